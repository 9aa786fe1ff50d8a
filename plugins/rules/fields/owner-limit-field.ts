import type { EntityManager } from '@mikro-orm/sql'
import { type DerivedField, derivedField } from './rule-field.ts'

interface Requirement extends Pick<DerivedField, 'key' | 'requires' | 'message'> {
  /** Returns the limited owners among `owners`, each with the client of the limit. */
  limited(
    owners: readonly string[],
    em: EntityManager
  ): Promise<readonly (readonly [owner: string, clientId: string])[]>
}

/**
 * Fills the slot of derived fields with a field for rules under a limit of their owner on their client. An agent that cannot
 * enforce the limit, or has lost it, does not open these rules.
 */
export const ownerLimitField = ({ limited, ...field }: Requirement) =>
  derivedField({
    ...field,
    async derive(rules, em) {
      const owners = [...new Set(rules.map(({ owner }) => owner))]
      const pairs = new Set((await limited(owners, em)).map(pair => pair.join(' ')))
      const requiring = rules.filter(({ owner, clientId }) => pairs.has(`${owner} ${clientId}`))
      return new Map(requiring.map(({ id }) => [id, {}]))
    }
  })
