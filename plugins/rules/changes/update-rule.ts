// PUT: changes hot fields while the rule runs.

import type { UpdateBody } from '../api/schema.ts'
import type { Change, Services } from '../services.ts'
import { type Operation, openChange } from './change-rule.ts'
import { requestedValues, requireContent, requireValid } from './update-body.ts'

export const openUpdate = (services: Services) => {
  const change = openChange(services)
  const { fields, reader } = services
  return async (id: string, body: UpdateBody, ackSecs: number | undefined, call: Change) => {
    requireContent(body, fields)
    const operation = {
      kind: 'update',
      ackSecs,
      refuse: () => requireValid(body, fields, call.principal),
      wanted: async ({ rule, values: stored }, by) => ({
        ...rule,
        values: { ...stored, ...(await requestedValues({ rule, stored, body, fields }, by)) }
      })
    } satisfies Operation
    await change(id, operation, call)
    return reader.read(id, call.principal)
  }
}
