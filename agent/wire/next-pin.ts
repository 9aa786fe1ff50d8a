import { Type } from 'typebox'
import { defineMessage, defineRequest } from '../../kernel/wire/message.ts'

const proto = new URL('./next-pin.proto', import.meta.url)
const body = Type.Object({ fingerprint: Type.String({ pattern: '^([0-9a-f]{64})?$' }) })

const NextPinKept = defineMessage({ name: 'sluice.pin.NextPinKept', proto, body })

/** Asks the agent to trust the next certificate in addition to the present one; '' withdraws it. */
export const NextPin = defineRequest({ name: 'sluice.pin.NextPin', proto, body, response: NextPinKept })

export const messages = [NextPin, NextPinKept]
