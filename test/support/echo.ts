// A minimal request for tests of message channels.
import { Type } from 'typebox'
import { defineMessage, defineRequest } from '../../kernel/wire/message.ts'

const message = defineMessage({
  name: 'sluice.echo.Echo',
  proto: new URL('./echo.proto', import.meta.url),
  body: Type.Object({ text: Type.String() })
})

/** A request with the same message as its response. */
export const Echo = defineRequest({ ...message, response: message })
