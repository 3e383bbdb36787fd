/* mlc.h - everything of mlc's interface; <mlc/short.h> adds unprefixed names. */
#ifndef MLC_H
#define MLC_H

#include <mlc/base.h>
#include <mlc/expr.h>
#include <mlc/func.h>
#include <mlc/run.h>
#include <mlc/runtime.h>
#include <mlc/schedule.h>
#include <mlc/text.h>
#include <mlc/watch.h>

#endif
