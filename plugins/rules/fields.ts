import type { SlotReader } from '../../kernel/slot.ts'
import type { Codec } from '../../kernel/wire/message.ts'
import { openDerivedValues } from './derived-values.ts'
import { openEncoding } from './encoding.ts'
import { openFieldValues } from './field-values.ts'
import { fieldOf, openRequirements } from './requirements.ts'

export type Fields = ReturnType<typeof openFields>

/** Everything that rules does with fields and shapes, none of which it knows by name. */
export function openFields(filled: SlotReader, codec: Codec) {
  const values = openFieldValues(filled)
  const derived = openDerivedValues(filled)
  const find = (key: string) => fieldOf(filled, key)
  const encodeAll = openEncoding({ codec, find, load: values.load, derive: derived.derive })
  return { ...openRequirements(filled), ...values, ...derived, encodeAll }
}
