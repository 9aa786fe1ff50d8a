import type { EntityManager } from '@mikro-orm/sql'
import type { Client } from '../../../kernel/identity/entities.ts'
import { afterCommit } from '../../../kernel/store/after-commit.ts'
import type { RuleRemoval } from '../changes/remove-rules.ts'
import type { DerivedParts } from './derived-parts.ts'

export interface ClientRemoval {
  /** Deletes the rules of a client with the client. Throws, by default `client_in_use`, if rules that would remain need it. */
  clientRemoved(client: Pick<Client, 'id'>, em: EntityManager): Promise<void>
}

export const openClientRemoval = ({
  parts,
  removeAll
}: Pick<RuleRemoval, 'removeAll'> & {
  readonly parts: Pick<DerivedParts, 'requireUnneeded'>
}): ClientRemoval => ({
  async clientRemoved({ id: clientId }, em) {
    await parts.requireUnneeded(clientId, em)
    const removed = await removeAll({ clientId }, em, 'cut')
    afterCommit(em, removed.afterCommit)
  }
})
