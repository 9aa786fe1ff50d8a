import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { recordFields } from '../http/exports.ts'
import type { Grant } from './entities.ts'
import { type CreateBody, emptyProtocolSet, fieldsIn, grantPorts, invalidPortRange } from './schema.ts'
import { formatTarget, parseTarget } from './targets.ts'

/** A grant as its body defines it. */
type GrantTerms = Omit<Grant, 'id' | 'clientId' | 'source' | 'createdAt'>

/** Throws a Fault for what the schema of the body cannot express. Does not look up users and clients. */
export function parseGrant(body: CreateBody): GrantTerms {
  const { user_id: userId, use = 'listen', note = null } = body
  const ports = use === 'exit' ? noPorts(body) : parsePorts(body)
  if ((body.client_id === undefined) === (body.client === undefined)) {
    const details = { field: '/client_id', reason: 'oneOf' }
    throw new Fault(invalidSchema, 'give either /client_id or /client', { details })
  }
  if (body.protocols.length === 0) {
    const details = { field: '/protocols', reason: 'minItems' }
    throw new Fault(emptyProtocolSet, '/protocols is empty; give tcp, udp or both', { details })
  }
  const given = new Set(body.protocols.map(protocol => protocol.toLowerCase()))
  const protocols = (['tcp', 'udp'] as const).filter(protocol => given.has(protocol))
  const formatted = body.targets?.map((target, at) => formatTarget(parseTarget(target, `/targets/${at}`)))
  const targets = formatted ? [...new Set(formatted)] : null
  return { userId, use, ...ports, protocols, targets, entries: parseEntries(body), note }
}

/** Returns the body of a create with each value as the record would show it. Throws as a create does. */
export const normalizeGrant = (body: CreateBody, filled: SlotReader): Readonly<Record<string, unknown>> => {
  const { use, protocols, targets, entries, note } = parseGrant(body)
  return { ...body, use, protocols, targets, entries, note, ...recordFields.parse(fieldsIn(filled), body) }
}

function parsePorts({ listen_port_start: portFrom, listen_port_end: portTo }: CreateBody) {
  if (portFrom == null || portTo == null) {
    const field = portFrom == null ? '/listen_port_start' : '/listen_port_end'
    throw new Fault(invalidPortRange, `${field} is required`, { details: { field, reason: 'required' } })
  }
  if (portFrom <= portTo) return { portFrom, portTo }
  const details = { field: '/listen_port_end', reason: 'range' }
  throw new Fault(invalidPortRange, `/listen_port_end ${portTo} is below /listen_port_start ${portFrom}`, {
    details
  })
}

function noPorts(body: CreateBody) {
  const given = (['listen_port_start', 'listen_port_end'] as const).find(key => body[key] != null)
  if (given === undefined) return { portFrom: 0, portTo: 0 }
  const details = { field: `/${given}`, reason: 'use' }
  throw new Fault(grantPorts, `/${given}: an exit grant has no listen ports; omit it, or give use listen`, {
    details
  })
}

function parseEntries({ use = 'listen', entries = null }: CreateBody): readonly string[] | null {
  if (entries === null) return null
  if (use === 'exit') return [...new Set(entries)].sort()
  const details = { field: '/entries', reason: 'use' }
  throw new Fault(invalidSchema, '/entries: only an exit grant has entries; omit it, or give use exit', {
    details
  })
}
