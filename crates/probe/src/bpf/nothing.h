/* SPDX-License-Identifier: (GPL-2.0 OR BSD-2-Clause) */
/* A program that does nothing. */
#ifndef NOTHING_H
#define NOTHING_H

#include "kernel.h"

#define NOTHING(hook, name) \
	SEC(hook)           \
	int name(void *ctx) \
	{                   \
		return 0;   \
	}

#endif
