import { Type } from 'typebox'
import { defineMessage, defineQuestion } from '../../kernel/wire/message.ts'

const proto = new URL('./next-pin.proto', import.meta.url)
const body = Type.Object({ fingerprint: Type.String({ pattern: '^([0-9a-f]{64})?$' }) })

export const NextPinKept = defineMessage({ name: 'sluice.pin.NextPinKept', proto, body })

/** Over the pinned stream: the leaf that shall be trusted beside the present one. '' takes it back. */
export const NextPin = defineQuestion({ name: 'sluice.pin.NextPin', proto, body, answer: NextPinKept })

export const messages = [NextPin, NextPinKept]
