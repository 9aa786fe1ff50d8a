// A client is not deleted while rules that would remain need it.
import type { EntityManager } from '@mikro-orm/sql'
import { type ErrorCode, Fault } from '../../../kernel/base/errors.ts'
import { clientInUse } from '../../clients/exports.ts'
import type { LoadedDerivedObject } from './derived-object.ts'

/** Throws with the code of a derived object, or `client_in_use`, if rules that would remain need the client. */
export async function requireUnneeded(
  clientId: string,
  objects: readonly LoadedDerivedObject[],
  em: EntityManager
): Promise<void> {
  for (const { inUse, ...context } of objects) {
    if (!inUse) continue
    const ids = [
      ...(await inUse.rules(clientId, shownRules, em, context)),
      ...(await rulesOn(clientId, context.kind, em))
    ]
    refuseInUse(inUse.code, clientId, [...new Set(ids)].sort().slice(0, shownRules))
  }
  refuseInUse(clientInUse, clientId, await rulesOn(clientId, null, em))
}

const shownRules = 100 // in an error

/** Returns the ids of rules of other clients that have an object on the client, of one kind or of any. */
async function rulesOn(clientId: string, kind: string | null, em: EntityManager): Promise<string[]> {
  const rows = await em.execute<{ id: string }[]>(
    `select distinct coalesce(rules.parent, rules.id) as id from rules_derived_part part
     join rules on rules.id = part.rule_id where part.client_id = ? and rules.client_id <> ?
     ${kind === null ? '' : 'and part.kind = ?'} order by id limit ${shownRules}`,
    [clientId, clientId, ...(kind === null ? [] : [kind])]
  )
  return rows.map(({ id }) => id)
}

function refuseInUse(code: ErrorCode, clientId: string, rule_ids: readonly string[]): void {
  if (rule_ids.length === 0) return
  const message = `rules of other clients need client ${clientId}; change or remove them first`
  throw new Fault(code, message, { details: { rule_ids } })
}
