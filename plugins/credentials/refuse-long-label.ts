import { Fault, invalidSchema } from '../../kernel/base/errors.ts'

const maxBytes = 255

/** The schema counts characters. Throws `validation.schema`. */
export function refuseLongLabel(label: string): void {
  const bytes = Buffer.byteLength(label)
  if (bytes > maxBytes)
    throw new Fault(invalidSchema, `/label has ${bytes} bytes; at most ${maxBytes}`, {
      details: { field: '/label', reason: 'maxBytes' }
    })
}
