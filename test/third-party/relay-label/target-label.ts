// The server half of the property: labels are lower-case, and tell targets apart.
import { defineCode, Fault, rules } from 'sluice/plugin'
import { field } from './field.ts'

export const reserved = defineCode('validation.relay_label', 400, 3)

export const targetLabel = rules.targetField({
  ...field,
  distinguishes: true,
  parse({ client_id, label }, { field }) {
    const details = { field: `${field}/label`, reason: 'reserved' }
    if (label.toLowerCase() === 'none')
      throw new Fault(reserved, `${field}/label is reserved; leave out ${field} for no relay`, { details })
    return { client_id, label: label.toLowerCase() }
  },
  encode: ({ label }) => label
})
