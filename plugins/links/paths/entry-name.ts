// Exits can serve entries by name, so their parts have the name of the entry. It changes with the client.
import type { EntityManager } from '@mikro-orm/sql'
import { Client } from '../../../kernel/identity/entities.ts'
import { afterCommit } from '../../../kernel/store/after-commit.ts'
import type { Rules } from '../../rules/exports.ts'
import { exitKind } from '../wire.ts'

/** Parts of rules on a client without the text. PostgreSQL writes JSON with spaces. */
const partsWithout = `
  select distinct part.rule_id as id from rules_derived_part part join rules on rules.id = part.rule_id
  where part.kind = '${exitKind}' and rules.client_id = ?
  and replace(replace(cast(part.body as text), '": "', '":"'), ?, '') = replace(cast(part.body as text), '": "', '":"')`

/** Returns the action for a changed client: it sends the parts with an earlier name of the client again. */
export const refreshEntryName =
  ({ refresh }: Pick<Rules, 'refresh'>) =>
  async ({ id }: Pick<Client, 'id'>, em: EntityManager): Promise<void> => {
    const { name } = await em.findOneOrFail(Client, { id }, { fields: ['name'] })
    const named = `"entry_name":${JSON.stringify(name)}`
    const stale = await em.execute<{ id: string }[]>(partsWithout, [id, named])
    if (stale.length > 0) afterCommit(em, await refresh({ id: { $in: stale.map(rule => rule.id) } }, em))
  }
