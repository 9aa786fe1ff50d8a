// The bans of one agent: the sources banned now, by rule, and the length of each source's next ban.
import ipaddr from 'ipaddr.js'
import { addressForms } from '../../kernel/platform/address-forms.ts'
import { BanShares } from './ban-shares.ts'
import { DueTimes } from './due-times.ts'
import { type Ban, maxCount, maxGrownSecs, type Policy, repeatMs } from './wire.ts'

/** Returns the name of the engine's set of banned addresses, for one rule or, if empty, for all rules. */
export const addressSet = (ruleId: string): string => (ruleId === '' ? 'bans' : `bans ${ruleId}`)

export interface SetChange {
  readonly set: string
  readonly add: readonly string[]
  readonly remove: readonly string[]
}

/** The bans of one source in one of the engine's sets. */
interface SourceBans {
  readonly set: string
  readonly source: string
  readonly bans: Set<Ban>
  isDenied: boolean // in the engine
}

/** A new or changed ban takes logarithmic time, whatever the number of bans. */
export class BanBook {
  /** The owners of rules, and the bound of the bans that rules cause. */
  readonly shares = new BanShares()
  readonly #bans = new Map<string, Ban>() // by id, including bans that ended within a day
  readonly #sources = new Map<string, SourceBans>() // by set and source
  readonly #changed = new Set<SourceBans>() // may differ from the engine
  readonly #due = new DueTimes() // when bans end, then when they are forgotten
  #now = 0

  get(id: string): Ban | undefined {
    return this.#bans.get(id)
  }

  /** Adds or replaces a ban. Returns the ban that was evicted for it, which can be the new one, or null. */
  put(ban: Ban): Ban | null {
    const replaced = this.#bans.get(ban.id)
    if (replaced) this.#unlink(replaced)
    if (replaced && replaced.rule_id !== ban.rule_id) this.shares.delete(replaced)
    this.#bans.set(ban.id, ban)
    this.#sourceBans(ban).bans.add(ban)
    this.#due.set(ban.id, ban.until_ms)
    const evicted = ban.cause === 'operator' ? null : this.shares.add(ban)
    if (evicted) this.delete(evicted.id)
    return evicted
  }

  delete(id: string): void {
    const ban = this.#bans.get(id)
    if (!ban) return
    this.#bans.delete(id)
    this.#due.delete(id)
    this.#unlink(ban)
    this.shares.delete(ban)
  }

  inForce(now: number): Ban[] {
    return [...this.#bans.values()].filter(({ until_ms }) => now < until_ms)
  }

  /** True if a ban in force names exactly this source, for this rule or for all rules. */
  isBanned(source: string, ruleId: string, now: number): boolean {
    return ['', ruleId].some(id => [...this.#bansOf(source, id)].some(({ until_ms }) => now < until_ms))
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
    const earlier = [...this.#bansOf(source, ruleId)].filter(
      ({ cause, until_ms }) => cause !== 'operator' && now < until_ms + repeatMs
    )
    const times = Math.min(maxCount, 1 + Math.max(0, ...earlier.map(({ times }) => times)))
    const secs = Math.max(for_secs, Math.min(maxGrownSecs, for_secs * 2 ** Math.min(times - 1, 30)))
    return { times, from_ms: now, until_ms: now + secs * 1000 }
  }

  /**
   * Returns the changes that bring the engine's sets to the bans in force at `now`, and assumes they are applied. Forgets
   * bans that ended more than a day ago.
   */
  takeChanges(now: number): SetChange[] {
    this.#advance(now)
    const changes = new Map<string, { readonly add: string[]; readonly remove: string[] }>()
    for (const one of this.#changed) {
      const isDenied = [...one.bans].some(({ until_ms }) => now < until_ms)
      if (one.bans.size === 0) this.#sources.delete(sourceKey(one.set, one.source))
      if (isDenied === one.isDenied) continue
      one.isDenied = isDenied
      const change = changes.get(one.set) ?? { add: [], remove: [] }
      changes.set(one.set, change)
      change[isDenied ? 'add' : 'remove'].push(one.source)
    }
    this.#changed.clear()
    return [...changes].map(([set, change]) => ({ set, ...change }))
  }

  /** Returns when `takeChanges` is due next, or null if there are no bans. */
  nextDue(): number | null {
    return this.#due.next()
  }

  #advance(now: number): void {
    if (now < this.#now) this.#startAgain()
    this.#now = now
    for (let id = this.#due.takeDue(now); id !== undefined; id = this.#due.takeDue(now)) {
      const ban = this.#bans.get(id)
      if (!ban) continue
      if (now >= ban.until_ms + repeatMs) this.delete(id)
      else {
        this.#changed.add(this.#sourceBans(ban))
        this.#due.set(id, ban.until_ms + repeatMs)
      }
    }
  }

  /** The server has set the time back: bans that had ended may be in force again. */
  #startAgain(): void {
    for (const ban of this.#bans.values()) {
      this.#changed.add(this.#sourceBans(ban))
      this.#due.set(ban.id, ban.until_ms)
    }
  }

  #bansOf(source: string, ruleId: string): ReadonlySet<Ban> {
    return this.#sources.get(sourceKey(addressSet(ruleId), source))?.bans ?? none
  }

  /** Returns the entry of the ban's source, which is about to change. */
  #sourceBans({ source, rule_id }: Ban): SourceBans {
    const set = addressSet(rule_id)
    const key = sourceKey(set, source)
    const known = this.#sources.get(key) ?? { set, source, bans: new Set(), isDenied: false }
    this.#sources.set(key, known)
    this.#changed.add(known)
    return known
  }

  #unlink(ban: Ban): void {
    this.#sourceBans(ban).bans.delete(ban)
  }
}

const none: ReadonlySet<Ban> = new Set()

const sourceKey = (set: string, source: string): string => `${set} ${source}`

/** True if the prefix, or the single address, contains the address or the IPv4 address that it leads to. */
const contains = (prefix: string, address: string): boolean =>
  addressForms(ipaddr.process(address).toString()).some(form => includes(prefix, form))

function includes(prefix: string, address: string): boolean {
  const host = ipaddr.parse(address)
  if (!prefix.includes('/')) return ipaddr.process(prefix).toString() === host.toString()
  const [base, bits] = ipaddr.parseCIDR(prefix)
  return base.kind() === host.kind() && host.match(base as never, bits) // both are IPv4 or both IPv6
}
