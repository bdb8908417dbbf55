# SPDX-License-Identifier: GPL-2.0
# For a Makefile that builds a program with what is here, after CFLAGS. It sets $(watch) to
# this directory and $(watch_objects) to what the program needs to show a screen; rules find
# the sources by vpath.
#
# Needed are ncursesw and json-c (Debian: libncurses-dev libjson-c-dev pkg-config).

watch := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
watch_objects := arguments.o json_number.o terminal.o units.o

PKG_CONFIG ?= pkg-config
watch_packages := ncursesw json-c
# json_object_new_uint64() came with that.
have_watch_packages := $(shell $(PKG_CONFIG) --exists 'ncursesw' 'json-c >= 0.14' 2>/dev/null && echo yes)
watch_cflags = $(shell $(PKG_CONFIG) --cflags $(watch_packages))
watch_libs = $(shell $(PKG_CONFIG) --libs $(watch_packages))

override CFLAGS += -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Wall -Wextra -I$(watch)
# As the headers of the kernel have it.
override CFLAGS += '-D__printf(a,b)=__attribute__((format(printf,a,b)))'
vpath %.c $(watch)
