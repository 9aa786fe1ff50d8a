import { Type } from 'typebox'
import { defineMessage, defineRequest } from '../../kernel/wire/message.ts'

const proto = new URL('./next-pin.proto', import.meta.url)
const body = Type.Object({ fingerprint: Type.String({ pattern: '^([0-9a-f]{64})?$' }) })

const NextPinSaved = defineMessage({ name: 'sluice.pin.NextPinSaved', proto, body })

/** Makes the agent trust the next certificate in addition to the current one; '' withdraws it. */
export const NextPin = defineRequest({ name: 'sluice.pin.NextPin', proto, body, response: NextPinSaved })

export const messages = [NextPin, NextPinSaved]
