// The least that two ends of a stream can say to each other.
import { Type } from 'typebox'
import { defineMessage, defineRequest } from '../../kernel/wire/message.ts'

const body = defineMessage({
  name: 'sluice.echo.Echo',
  proto: new URL('./echo.proto', import.meta.url),
  body: Type.Object({ text: Type.String() })
})

/** A question that is its own answer, and so a message, too. */
export const Echo = defineRequest({ ...body, response: body })
