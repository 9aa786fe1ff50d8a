// Checks before a rule is sent to an agent: every part of the rule needs a loaded plugin, and a capability of the agent.
import type { EntityManager } from '@mikro-orm/sql'
import { defineCode, Fault } from '../../../kernel/base/errors.ts'
import { type AgentCapabilities, isCapable } from '../../../kernel/control/peers.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { SlotReader } from '../../../kernel/slot.ts'
import type { Rule } from '../entities.ts'
import { type ShapeSupport, shapeSlot } from '../slots.ts'
import { updateCapability } from '../wire.ts'
import { derivedFieldSlot, fieldUnsupported, isSent, type RuleDraft } from './rule-field.ts'
import { storedFieldsIn } from './target-values.ts'

export const fieldNotLoaded = defineCode('field_not_loaded', 422, 6)
export const shapeNotLoaded = defineCode('rule_shape_not_loaded', 422, 6)
export const clientNotConnected = defineCode('client_not_connected', 422, 4)
export const requirementCodes = [fieldNotLoaded, shapeNotLoaded, clientNotConnected]

/** Finds a field that agents receive, derived or not. */
export const findSentField = (filled: SlotReader, key: string) =>
  storedFieldsIn(filled)
    .filter(isSent)
    .find(field => field.key === key) ??
  filled(derivedFieldSlot).find(({ value }) => value.key === key)?.value

/** Returns the key under which an agent gets the field. */
export const messageKey = (field: { readonly key: string; readonly sentAs?: string }): string =>
  field.sentAs ?? field.key

const findShapeSupport = (filled: SlotReader, shape: ShapeSupport['shape']) =>
  filled(shapeSlot).find(({ value }) => value.shape === shape)?.value

/** Returns a fault if no loaded plugin owns a field or shape of the rule: without it, the rule could match too much. */
export function missingPart(filled: SlotReader, rule: Rule): Fault | null {
  const key = rule.fields.find(key => !findSentField(filled, key))
  if (key !== undefined) return new Fault(fieldNotLoaded, `no loaded plugin owns the rule's field ${key}`)
  const shape = ruleShapes(rule).find(shape => !findShapeSupport(filled, shape))
  return shape ? new Fault(shapeNotLoaded, `no loaded plugin supports ${shapeNames[shape]}`) : null
}

const pausing = { capability: updateCapability, refusal: fieldUnsupported }

/** Returns a fault for the first capability that the client lacks, or null if it supports the rule. */
export function unsupported(filled: SlotReader, rule: Rule, client: AgentCapabilities): Fault | null {
  const shapes = ruleShapes(rule).map(shape => findShapeSupport(filled, shape))
  const requirements = [
    ...shapes.map(support => ({ requires: support?.requires, field: support?.bodyField })),
    ...rule.fields.map(key => {
      const field = findSentField(filled, key)
      return { requires: field?.requires, field: field && messageKey(field) }
    }),
    ...(rule.paused ? [{ requires: pausing, field: 'paused' }] : [])
  ]
  for (const { requires, field } of requirements) {
    if (!requires || isCapable(client, requires.capability)) continue
    const { id, since } = requires.capability
    const message = `client ${rule.clientId} runs ${client.agentVersion}, without ${id} ${since}; update its agent`
    const details = { ...(field !== undefined && { field }), client_id: rule.clientId }
    return new Fault(requires.refusal, message, { details })
  }
  return null
}

/** Returns the capabilities of the current or last connection of a client; null if it never connected. */
export async function lastKnownAgent(
  { control }: Pick<Kernel, 'control'>,
  id: string,
  em: EntityManager
): Promise<AgentCapabilities | null> {
  const peer = control.peers.find(id)
  if (peer) return peer
  const { agentVersion = null, capabilities = null } = await em.findOneOrFail(Client, { id })
  return agentVersion === null ? null : { agentVersion, capabilities }
}

/** Throws if no loaded plugin owns a part of the rule, or if the client is offline or lacks a capability. */
export function requireCapablePeer(
  { control, filled }: Pick<Kernel, 'control' | 'filled'>,
  rule: Rule
): void {
  const missing = missingPart(filled, rule)
  if (missing) throw missing
  const peer = control.peers.find(rule.clientId)
  if (!peer)
    throw new Fault(clientNotConnected, `client ${rule.clientId} is not connected; nothing is changed`)
  const lacking = unsupported(filled, rule, peer)
  if (lacking) throw lacking
}

/** Throws as `requireCapablePeer` does, but accepts an offline client: then the capabilities of its last connection count. */
export async function requireCapableClient(
  services: Pick<Kernel, 'control' | 'filled'>,
  rule: Rule,
  em: EntityManager
): Promise<void> {
  const { filled } = services
  const missing = missingPart(filled, rule)
  if (missing) throw missing
  const client = await lastKnownAgent(services, rule.clientId, em)
  const lacking = client && unsupported(filled, rule, client)
  if (lacking) throw lacking
}

const shapeNames = { udp: 'UDP rules', range: 'port ranges', targets: 'several targets' } as const

function ruleShapes(rule: RuleDraft) {
  const has = {
    udp: rule.protocol === 'udp',
    range: rule.listenTo > rule.listenFrom,
    targets: rule.targets.length > 1
  }
  return (['udp', 'range', 'targets'] as const).filter(shape => has[shape])
}
