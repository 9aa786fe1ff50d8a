// Grants that a source gives, such as the groups of a user at a provider.
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/platform/id.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import type { RecordAs } from '../http/exports.ts'
import type { Rules } from '../rules/exports.ts'
import { coverableRules, uncoveredWithout } from './covered-rules.ts'
import { Grant } from './entities.ts'
import type { GrantGiver, SkippedGrant, SourcedGrants } from './exports.ts'
import { created, lostTerms, placesOf, requireEntries, requireRoom, resolveClientId } from './grants.ts'
import type { LostRules } from './lost-rules.ts'
import { parseGrant } from './parse-grant.ts'
import type { GrantTemplate } from './schema.ts'
import { deleteGrants } from './user-grants.ts'

interface Deps extends Pick<Kernel, 'clock' | 'filled'> {
  readonly rules: Rules
  readonly lostRules: LostRules
  readonly recordAs: RecordAs
}

export function openSourcedGrants(deps: Deps): SourcedGrants {
  const { filled, lostRules, recordAs, rules } = deps

  async function remove(em: EntityManager, stale: readonly Grant[], actor: string): Promise<void> {
    if (stale.length === 0) return
    await deleteGrants({ id: { $in: stale.map(({ id }) => id) } }, filled, em)
    for (const grant of stale) {
      const resource = { kind: 'grant', id: grant.id, changes: () => lostTerms(grant) }
      await recordAs(em, { actor, action: 'grant.delete', resource })
    }
  }

  async function insert(em: EntityManager, grants: readonly Grant[], actor: string): Promise<void> {
    for (const grant of grants) {
      await em.insert(Grant, grant)
      await recordAs(em, { actor, action: 'grant.create', resource: created(grant.id, grant, filled) })
    }
  }

  /** Closes the rules that lost their last grant, and updates the others. */
  async function settleRules(em: EntityManager, changed: Changed, actor: string): Promise<void> {
    const { stale, added, left } = changed
    const places = [...stale, ...added].map(placesOf)
    const byClient = new Map(places.map(place => [place.clientId, place]))
    for (const place of byClient.values()) await rules.admissionChanged(place, em)
    const lost = new Set<string>()
    for (const grant of stale) for (const id of await uncoveredWithout(grant, left, rules, em)) lost.add(id)
    await lostRules.lose([...lost], actor, em)
    const coverable = []
    for (const grant of [...stale, ...added]) coverable.push(await coverableRules(grant, rules, em))
    afterCommit(em, await rules.refresh({ $or: coverable }, em))
  }

  return {
    async set(em, giver, templates) {
      const { userId, source, actor } = giver
      const { wanted, skipped } = await parseTemplates(deps, giver, templates, em)
      const all = await em.find(Grant, { userId }, { orderBy: { id: 'asc' } })
      const own = new Map(all.filter(grant => grant.source === source).map(grant => [termsKey(grant), grant]))
      const kept = new Set([...own].flatMap(([key, { id }]) => (wanted.has(key) ? [id] : [])))
      const stale = all.filter(grant => grant.source === source && !kept.has(grant.id))
      const left = all.filter(grant => !stale.includes(grant))
      const added: Grant[] = []
      for (const [key, { grant, template }] of wanted) {
        if (own.has(key)) continue
        const reason = faultOf(() => requireRoom(grant, [...left, ...added]))
        if (reason) skipped.push({ template, reason })
        else added.push(grant)
      }
      if (stale.length + added.length === 0) return skipped
      await remove(em, stale, actor)
      await insert(em, added, actor)
      await settleRules(em, { stale, added, left: [...left, ...added] }, actor)
      return skipped
    }
  }
}

interface Changed {
  readonly stale: readonly Grant[]
  readonly added: readonly Grant[]
  readonly left: readonly Grant[] // that the user has now
}

interface Parsed {
  readonly wanted: Map<string, { readonly grant: Grant; readonly template: GrantTemplate }> // equal ones once
  readonly skipped: SkippedGrant[]
}

async function parseTemplates(
  { clock }: Pick<Deps, 'clock'>,
  { userId, source }: GrantGiver,
  templates: readonly GrantTemplate[],
  em: EntityManager
): Promise<Parsed> {
  const wanted: Parsed['wanted'] = new Map()
  const skipped: SkippedGrant[] = []
  for (const template of templates)
    try {
      const terms = parseGrant({ ...template, user_id: userId })
      const clientId = await resolveClientId(template, em)
      await requireEntries(terms, em)
      const now = clock.now()
      const grant: Grant = { ...terms, id: newId(now), clientId, source, createdAt: now }
      wanted.set(termsKey(grant), { grant, template })
    } catch (reason) {
      if (!(reason instanceof Fault)) throw reason
      skipped.push({ template, reason })
    }
  return { wanted, skipped }
}

/** Equal for grants that allow the same with the same note. */
const termsKey = (grant: Grant): string => {
  const {
    clientId = null,
    use,
    portFrom,
    portTo,
    protocols,
    targets = null,
    entries = null,
    note = null
  } = grant
  return JSON.stringify([clientId, use, portFrom, portTo, protocols, targets, entries, note])
}

function faultOf(check: () => void): Fault | null {
  try {
    check()
    return null
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
}
