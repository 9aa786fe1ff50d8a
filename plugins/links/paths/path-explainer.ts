// Explains the paths of a rule: asks the client before and the client after each hop, all at once.
import type { EntityManager } from '@mikro-orm/sql'
import { Type } from 'typebox'
import { ClientId, orNull } from '../../../kernel/http/schema.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { Refused } from '../../../kernel/wire/message.ts'
import {
  agentOrder,
  type ExplainedPath,
  type ExplainedRule,
  type PathExplainer,
  type RuleCore,
  type Rules
} from '../../rules/exports.ts'
import type { LinkRow } from '../entities.ts'
import { loadParties } from '../link-object.ts'
import { findPairs, pairKey } from '../link-queries.ts'
import { capability, HopCheck, type HopState, maxPath } from '../wire.ts'
import { type Hop, hopStep, refusedStep } from './hop-step.ts'
import { type Pair, pairsOf, pairsOfPath } from './pairs.ts'
import { targetKey } from './target-key.ts'

interface Services extends Pick<Kernel, 'store' | 'control'> {
  readonly rules: Pick<Rules, 'matching' | 'deniedClients'>
}

type Target = RuleCore['targets'][number]

interface LinkPath extends ExplainedPath {
  readonly hops: readonly Hop[]
}

/** The stored part of an explanation. */
interface Stored {
  readonly entryId: string
  readonly targets: readonly Target[] // in force, in the order of agents
  readonly links: ReadonlyMap<string, LinkRow>
  readonly parties: Awaited<ReturnType<typeof loadParties>>
  readonly denied: ReadonlySet<string>
}

const answerMs = 500

/** Reasons of agents on a path. The exit checks the address of the target, so `denied_by_exit` is its own. */
const hopReasons: readonly string[] = ['link_down', 'link_exhausted', 'rule_unknown', 'denied_by_exit']

export function openPathExplainer(services: Services): PathExplainer {
  const { store } = services

  return {
    properties: {
      via: orNull(Type.Array(ClientId, { maxItems: maxPath }), {
        description: 'Clients through which the target is reached; null: the client of the rule dials.',
        examples: [null]
      }),
      link_ms: orNull(Type.Number({ minimum: 0 }), {
        description: 'Time that the probe took on the links of the path, besides look-up and connect.',
        examples: [null]
      })
    },
    show: (path, pathMs) => ({ via: path ? [...path.clientIds] : null, link_ms: path ? pathMs : null }),
    async explain(asked) {
      const stored = await store.read(em => load(services, asked, em))
      if (!stored) return []
      return Promise.all(stored.targets.map(target => explainTarget(services, asked.id, target, stored)))
    },
    refusedBy(path, reason) {
      const { hops = [] } = path as Partial<LinkPath> // made by `explain`
      const at = reason === 'denied_by_exit' ? hops.length - 1 : 0
      const hop = hops[at]
      if (!hop || !hopReasons.includes(reason)) return path
      return { ...path, steps: [...path.steps.slice(0, at), refusedStep(hop, reason)] }
    }
  }
}

async function load({ rules }: Services, asked: ExplainedRule, em: EntityManager): Promise<Stored | null> {
  const [rule] = await rules.matching({ id: asked.id }, em)
  if (!rule) return null
  const inForce = { ...rule, targets: rule.before?.rule.targets ?? rule.targets }
  const pairs = pairsOf(inForce)
  if (pairs.length === 0) return null
  const links = await findPairs(pairs, em)
  const targets = agentOrder(inForce).flatMap(index => inForce.targets[index] ?? [])
  const parties = await loadParties([...links.values()], em)
  return { entryId: rule.clientId, targets, links, parties, denied: await rules.deniedClients(inForce, em) }
}

async function explainTarget(
  { control }: Services,
  ruleId: string,
  target: Target,
  stored: Stored
): Promise<LinkPath | null> {
  const { path = [] } = target
  if (path.length === 0) return null
  const { entryId, links } = stored
  const clients = [entryId, ...path]
  const pairs = pairsOfPath(entryId, path)
  const linkIds = pairs.map(pair => links.get(pairKey(pair))?.id)
  const key = targetKey(target)
  const answers = await Promise.all(
    clients.map((clientId, at) => {
      const previous = clients[at - 1]
      const { [at]: link_id } = linkIds
      const check = {
        rule_id: ruleId,
        key,
        ...(previous !== undefined && { previous }),
        ...(link_id && { link_id })
      }
      return askClient(control, clientId, check)
    })
  )
  const hops = pairs.map((pair, at) => toHop(pair, [answers[at] ?? null, answers[at + 1] ?? null], stored))
  const steps = hops.map(hopStep)
  const stop = steps.findIndex(({ verdict }) => verdict === 'stop')
  return { clientIds: path, hops, steps: stop < 0 ? steps : steps.slice(0, stop + 1) }
}

/** Returns null if the client does not answer. */
async function askClient(
  { peers }: Pick<Kernel['control'], 'peers'>,
  clientId: string,
  check: HopCheck
): Promise<HopState | null> {
  const peer = peers.find(clientId)
  if (!peer?.can(capability)) return null
  try {
    return await peer.request(HopCheck, check, { deadlineMs: answerMs })
  } catch (error) {
    if (error instanceof Refused) return null
    throw error
  }
}

function toHop(
  pair: Pair,
  [nearSays, farSays]: readonly [HopState | null, HopState | null],
  { links, parties: { clients }, denied }: Stored
): Hop {
  const party = (id: string) => {
    const client = clients.get(id)
    return { name: client?.name ?? id, isRevoked: client?.revokedAt != null }
  }
  const [near, far] = pair
  const absent = { id: far, state: 'down', stateReason: null } as const // between a change and its link
  const link = links.get(pairKey(pair)) ?? absent
  return { link, near: party(near), far: party(far), isGranted: !denied.has(far), nearSays, farSays }
}
