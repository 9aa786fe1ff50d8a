// Bounds the bans that rules cause on one client. Bans of operators do not count.
import { type Ban, maxBansPerRule, maxRuleBans } from './wire.ts'

interface RuleBans {
  owner: string
  readonly bans: Map<string, Ban> // by id, the oldest first
}

interface OwnerBans {
  readonly rules: Set<RuleBans>
  size: number
}

/** A rule loses its oldest ban beyond 500. Beyond 5,000 bans, the owner of rules with the most loses their oldest. */
export class BanShares {
  readonly #owners = new Map<string, string>() // of known rules, by rule id
  readonly #ofRule = new Map<string, RuleBans>() // none is empty
  readonly #ofOwner = new Map<string, OwnerBans>() // none is empty
  readonly #bySize: Set<string>[] = [] // owners by their number of bans, to find the largest without a search
  #size = 0

  /** Sets the owner of a rule that comes into force. Until then, the bans of a rule count for an owner without a name. */
  setOwner(ruleId: string, owner: string): void {
    this.#owners.set(ruleId, owner)
    const own = this.#ofRule.get(ruleId)
    if (!own || own.owner === owner) return
    this.#changeOwner(own, owner)
  }

  /** Forgets the owner of a rule that is no longer in force. Its bans still count for the owner. */
  forgetOwner(ruleId: string): void {
    this.#owners.delete(ruleId)
  }

  /** Adds or replaces a ban. Returns the ban that is evicted for it, which can be the new one. */
  add(ban: Ban): Ban | null {
    const own = this.#bansOf(ban.rule_id)
    const isNew = !own.bans.has(ban.id)
    own.bans.set(ban.id, ban)
    if (!isNew) return null
    this.#size += 1
    this.#resize(own.owner, 1).rules.add(own)
    const evicted = this.#surplus(own, ban)
    if (evicted) this.delete(evicted)
    return evicted
  }

  delete(ban: Ban): void {
    const own = this.#ofRule.get(ban.rule_id)
    if (!own?.bans.delete(ban.id)) return
    this.#size -= 1
    const { rules } = this.#resize(own.owner, -1)
    if (own.bans.size > 0) return
    rules.delete(own)
    this.#ofRule.delete(ban.rule_id)
  }

  #bansOf(ruleId: string): RuleBans {
    const known = this.#ofRule.get(ruleId)
    if (known) return known
    const own = { owner: this.#owners.get(ruleId) ?? '', bans: new Map() }
    this.#ofRule.set(ruleId, own)
    return own
  }

  #surplus(own: RuleBans, added: Ban): Ban | null {
    if (own.bans.size > maxBansPerRule) return oldestOf([own], added)
    if (this.#size <= maxRuleBans) return null
    const [largest = ''] = this.#bySize.at(-1) ?? []
    const rules = this.#ofOwner.get(largest)?.rules ?? new Set()
    return oldestOf(rules, rules.has(own) ? added : null)
  }

  #changeOwner(own: RuleBans, owner: string): void {
    this.#ofOwner.get(own.owner)?.rules.delete(own)
    this.#resize(own.owner, -own.bans.size)
    own.owner = owner
    this.#resize(owner, own.bans.size).rules.add(own)
  }

  #resize(owner: string, change: number): OwnerBans {
    const own = this.#ofOwner.get(owner) ?? { rules: new Set(), size: 0 }
    this.#bySize[own.size]?.delete(owner)
    own.size += change
    if (own.size === 0) this.#ofOwner.delete(owner)
    else {
      this.#ofOwner.set(owner, own)
      this.#bySize[own.size] = (this.#bySize[own.size] ?? new Set()).add(owner)
    }
    while (this.#bySize.length > 0 && !this.#bySize.at(-1)?.size) this.#bySize.pop()
    return own
  }
}

/** Returns the oldest of the first bans of rules and of the one just added, which may have been made earlier. */
function oldestOf(rules: Iterable<RuleBans>, added: Ban | null): Ban | null {
  let oldest = added
  for (const { bans } of rules) {
    const [first] = bans.values()
    if (first && (!oldest || first.id < oldest.id)) oldest = first
  }
  return oldest
}
