# SPDX-License-Identifier: GPL-2.0
# A Makefile that builds a program with this directory includes this file after it sets CFLAGS.
# The file sets $(watch) to this directory, and $(watch_objects) to the objects that a program
# with a screen needs; rules find the sources by vpath.
#
# The packages ncursesw and json-c are needed (Debian: libncurses-dev libjson-c-dev pkg-config).

watch := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
watch_objects := arguments.o json_number.o terminal.o units.o

PKG_CONFIG ?= pkg-config
watch_packages := ncursesw json-c
# json-c has json_object_new_uint64() since 0.14.
have_watch_packages := $(shell $(PKG_CONFIG) --exists 'ncursesw' 'json-c >= 0.14' 2>/dev/null && echo yes)
watch_cflags = $(shell $(PKG_CONFIG) --cflags $(watch_packages))
watch_libs = $(shell $(PKG_CONFIG) --libs $(watch_packages))

override CFLAGS += -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Wall -Wextra -I$(watch)
# As in the kernel's headers.
override CFLAGS += '-D__printf(a,b)=__attribute__((format(printf,a,b)))'
vpath %.c $(watch)
