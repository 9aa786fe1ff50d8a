// Gives users the grants of their groups at a provider. Grants that were given by hand, or by another provider, stay.
import type { EntityManager } from '@mikro-orm/sql'
import { reasonOf } from '../../../kernel/base/errors.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { afterCommit } from '../../../kernel/store/after-commit.ts'
import type { GrantTemplate, SourcedGrants } from '../../grants/exports.ts'
import type { Provider } from '../provider/provider-config.ts'
import { actor, sourceOf } from './groups.ts'

interface GroupGrants {
  /** Makes the grants of the provider equal to those of the groups, in the transaction of the sign-in. */
  apply(em: EntityManager, userId: string, groups: readonly string[], provider: Provider): Promise<void>
  /** Deletes the grants of the provider. */
  end(em: EntityManager, userId: string, provider: string): Promise<void>
}

interface Deps extends Pick<Kernel, 'log'> {
  readonly sourcedGrants: SourcedGrants
}

export function openGroupGrants({ log, sourcedGrants }: Deps): GroupGrants {
  async function set(
    em: EntityManager,
    userId: string,
    provider: string,
    templates: readonly GrantTemplate[]
  ): Promise<void> {
    const giver = { userId, source: sourceOf(provider), actor }
    const skipped = await sourcedGrants.set(em, giver, templates)
    const [first] = skipped
    if (!first) return
    const message = `${skipped.length} grants of groups are not given, the first because: ${reasonOf(first.reason)}`
    afterCommit(em, () => log.warn('oidc.grant_skipped', message, { user: userId, provider }))
  }

  return {
    async apply(em, userId, groups, { name, grants }) {
      if (!grants) return
      const given = [...new Set(groups)].flatMap(group =>
        Object.hasOwn(grants, group) ? (grants[group] ?? []) : []
      )
      await set(em, userId, name, given)
    },
    end: (em, userId, provider) => set(em, userId, provider, [])
  }
}
