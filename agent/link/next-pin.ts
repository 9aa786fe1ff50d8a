// The server announces its next certificate over the stream that the present one secures; the bundle stores its pin.
import { NextPin } from '../../kernel/wire/control.ts'
import { type BoundHandler, bindHandlers, Refused, respond } from '../../kernel/wire/message.ts'
import { type Bundle, saveNextPin } from './bundle.ts'

/** Handles NextPin on a stream that was authenticated with this bundle's token. */
export const nextPinHandlers = (bundleFile: string, { token }: Bundle): BoundHandler[] =>
  bindHandlers(
    [
      respond(NextPin, async (_: null, { fingerprint }) => {
        if (!saveNextPin(bundleFile, token, fingerprint))
          throw new Refused('bundle_replaced', 'the bundle now has another token')
        return { fingerprint }
      })
    ],
    () => null
  )
