// The leaf that the server will have next: told over the stream that the present one vouches for, kept in the bundle.

import { NextPin } from '../../kernel/wire/control.ts'
import { type BoundHandler, bindHandlers, Refused, respond } from '../../kernel/wire/message.ts'
import { type Bundle, saveNextPin } from './bundle.ts'

/** `bundle` is the one that the stream came up with. */
export const nextPinHandlers = (bundleFile: string, { token }: Bundle): BoundHandler[] =>
  bindHandlers(
    [
      respond(NextPin, async (_: null, { fingerprint }) => {
        if (!saveNextPin(bundleFile, token, fingerprint))
          throw new Refused('bundle_replaced', 'the bundle holds another token by now')
        return { fingerprint }
      })
    ],
    () => null
  )
