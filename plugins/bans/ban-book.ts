// The bans of one agent: the sources banned now, by rule, and the length of each source's next ban.
import ipaddr from 'ipaddr.js'
import { type Ban, maxBans, maxCount, maxGrownSecs, type Policy, repeatMs } from './wire.ts'

/** Returns the name of the engine's set of banned addresses, for one rule or, if empty, for all rules. */
export const addressSet = (ruleId: string): string => (ruleId === '' ? 'bans' : `bans ${ruleId}`)

export interface SetChange {
  readonly set: string
  readonly add: readonly string[]
  readonly remove: readonly string[]
}

export class BanBook {
  readonly #bans = new Map<string, Ban>() // by id, including bans that ended within a day
  readonly #inForce = new Map<string, ReadonlySet<string>>() // sources by set, as in the engine

  get(id: string): Ban | undefined {
    return this.#bans.get(id)
  }

  /** Adds a ban. Beyond 5,000 bans, evicts the one that ends first and returns it. */
  put(ban: Ban): Ban | null {
    this.#bans.set(ban.id, ban)
    if (this.#bans.size <= maxBans) return null
    const [first = ban, ...others] = this.#bans.values()
    const evicted = others.reduce((one, other) => (other.until_ms < one.until_ms ? other : one), first)
    this.#bans.delete(evicted.id)
    return evicted
  }

  delete(id: string): void {
    this.#bans.delete(id)
  }

  /** Deletes bans that ended more than a day ago. */
  forget(now: number): void {
    for (const { id, until_ms } of this.#bans.values()) if (until_ms + repeatMs < now) this.#bans.delete(id)
  }

  inForce(now: number): Ban[] {
    return [...this.#bans.values()].filter(({ until_ms }) => now < until_ms)
  }

  /** True if a ban in force names exactly this source, for this rule or for all rules. */
  isBanned(source: string, ruleId: string, now: number): boolean {
    return this.inForce(now).some(ban => ban.source === source && ['', ruleId].includes(ban.rule_id))
  }

  /** Returns the bans in force that apply to callers of the rule. */
  bansOn(ruleId: string, now: number): Ban[] {
    return this.inForce(now).filter(({ rule_id }) => ['', ruleId].includes(rule_id))
  }

  /** Returns the ban of an address from the rule that ends last. */
  longestBan(address: string, ruleId: string, now: number): Ban | undefined {
    const bans = this.bansOn(ruleId, now).filter(({ source }) => contains(source, address))
    return bans.toSorted((a, b) => b.until_ms - a.until_ms)[0]
  }

  /** Returns the next ban of a source. Its length doubles if the last one ended within a day. */
  nextBan(source: string, ruleId: string, { for_secs }: Pick<Policy, 'for_secs'>, now: number) {
    const earlier = [...this.#bans.values()].filter(
      ban =>
        ban.source === source &&
        ban.rule_id === ruleId &&
        ban.cause !== 'operator' &&
        now < ban.until_ms + repeatMs
    )
    const times = Math.min(maxCount, 1 + Math.max(0, ...earlier.map(({ times }) => times)))
    const secs = Math.max(for_secs, Math.min(maxGrownSecs, for_secs * 2 ** Math.min(times - 1, 30)))
    return { times, from_ms: now, until_ms: now + secs * 1000 }
  }

  /** Returns the changes that bring the engine's sets to the bans in force at `now`, and assumes they are applied. */
  takeChanges(now: number): SetChange[] {
    const wanted = new Map<string, Set<string>>()
    for (const { rule_id, source } of this.inForce(now))
      wanted.set(addressSet(rule_id), (wanted.get(addressSet(rule_id)) ?? new Set()).add(source))
    const changes: SetChange[] = []
    for (const set of new Set([...wanted.keys(), ...this.#inForce.keys()])) {
      const after: ReadonlySet<string> = wanted.get(set) ?? new Set()
      const before = this.#inForce.get(set) ?? new Set()
      const change = { set, add: [...after.difference(before)], remove: [...before.difference(after)] }
      if (change.add.length + change.remove.length > 0) changes.push(change)
      if (after.size > 0) this.#inForce.set(set, after)
      else this.#inForce.delete(set)
    }
    return changes
  }

  /** Returns when the next ban ends, or null if no ban is in force. */
  nextEnd(now: number): number | null {
    const ends = this.inForce(now).map(({ until_ms }) => until_ms)
    return ends.length === 0 ? null : ends.reduce((one, other) => Math.min(one, other))
  }
}

/** True if the prefix, or the single address, contains the address. */
function contains(prefix: string, address: string): boolean {
  const host = ipaddr.process(address)
  if (!prefix.includes('/')) return ipaddr.process(prefix).toString() === host.toString()
  const [base, bits] = ipaddr.parseCIDR(prefix)
  return base.kind() === host.kind() && host.match(base as never, bits) // both are IPv4 or both IPv6
}
