import { isIP } from 'node:net'
import { engineFault } from './engine-fault.ts'
import type { EngineTarget } from './engine-target.ts'

/**
 * Other targets for the callers of some sources: a tarpit, a honeypot, a maintenance page. The address is that which
 * guards check, and `live` connections keep their targets when a set changes. The targets are dialed in order of
 * priority, with the rule's preamble, filters and `dialFrom`. Meters, limits and port counters of the rule apply. The
 * health, counters, balance and probes of the rule's targets do not include diverted callers.
 */
export interface Divert {
  /**
   * Names the divert in counters, lists and explanations: the plugin's name, or it with a suffix, 'tarpit-slow'. Unique in
   * a rule, kebab-case, at most 64 characters. Use constants: the engine keeps all names.
   */
  readonly name: string
  readonly from: readonly string[] // names of address sets, see `Engine.changeAddresses`; an unknown set is empty
  readonly targets: readonly EngineTarget[]
  /** null: no limit. A rule that replaces another continues the count of the divert with the same name. */
  readonly refusalBeyond: RefusalBeyond | null
}

export interface RefusalBeyond {
  readonly max: number // connections and flows at once
  readonly reason: string // under which `Counters.rejected` counts further callers; at most 32 characters
}

/** Counters of a divert since the rule opened. */
export interface DivertCounters {
  readonly name: string
  readonly bytesIn: number // delivered, as in Counters
  readonly bytesOut: number
  readonly connectionsTotal: number // that have connected to a target
  readonly active: number // open and connecting connections and flows
}

interface DivertingRule {
  readonly diverts: readonly Divert[]
  readonly from: number // first listen port
  readonly to: number
}

const maxDiverts = 8 // of a rule
const maxTargets = 8
const maxSets = 8
const maxSetName = 128

/** Throws EngineFault EINVAL, which names the field, if a rule's diverts are invalid. */
export function checkDiverts({ diverts, from, to }: DivertingRule): void {
  checkLength('diverts', diverts, 0, maxDiverts)
  for (const [index, divert] of diverts.entries()) {
    const { name, targets, refusalBeyond } = divert
    const field = `diverts[${index}]`
    if (!/^[a-z][a-z0-9-]{0,63}$/.test(name))
      throw engineFault('EINVAL', `${field}.name must be kebab-case with at most 64 characters, got ${name}`)
    if (diverts.findIndex(other => other.name === name) < index)
      throw engineFault('EINVAL', `${field}.name must be unique in the rule, got ${name} twice`)
    checkLength(`${field}.from`, divert.from, 1, maxSets)
    for (const set of divert.from)
      if (set.length < 1 || set.length > maxSetName)
        throw engineFault('EINVAL', `${field}.from must name sets with 1 to ${maxSetName} characters`)
    checkLength(`${field}.targets`, targets, 1, maxTargets)
    for (const target of targets) checkTarget(`${field}.targets`, target, to - from)
    if (refusalBeyond) checkRefusal(`${field}.refusalBeyond`, refusalBeyond)
  }
}

function checkLength(field: string, list: readonly unknown[], least: number, most: number): void {
  if (list.length < least || list.length > most)
    throw engineFault('EINVAL', `${field} must have ${least} to ${most} entries, got ${list.length}`)
}

function checkTarget(field: string, { host, port }: EngineTarget, furtherPorts: number): void {
  const isHost = isIP(host) !== 0 || /^(?=.{1,253}$)[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(host)
  if (!isHost)
    throw engineFault('EINVAL', `${field} must have addresses or lower-case DNS names as hosts, got ${host}`)
  if (!Number.isInteger(port) || port < 1 || port + furtherPorts > 65_535)
    throw engineFault('EINVAL', `${field} must have ports 1 to ${65_535 - furtherPorts}, got ${port}`)
}

function checkRefusal(field: string, { max, reason }: RefusalBeyond): void {
  if (!Number.isSafeInteger(max) || max < 1)
    throw engineFault('EINVAL', `${field}.max must be an integer of at least 1, got ${max}`)
  if (!/^[a-z0-9_]{1,32}$/.test(reason))
    throw engineFault('EINVAL', `${field}.reason must have 1 to 32 characters a-z, 0-9 and _, got ${reason}`)
}
