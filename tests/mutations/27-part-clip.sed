# src/lower/shared.c
# what a part reads before it starts is asked for
s/        let->clips_start = !from_start;/        let->clips_start = false;/
