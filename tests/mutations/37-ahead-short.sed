# src/lower/run_ahead.c
# threads run ahead by as many steps as the ring has parts: one too many
s/has_copies(h, s->u.turn.body), s->u.turn.channel->parts - 1 }/has_copies(h, s->u.turn.body), s->u.turn.channel->parts }/
