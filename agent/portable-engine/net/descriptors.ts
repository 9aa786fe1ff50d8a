import { readdirSync, readFileSync } from 'node:fs'

/** Kept free for files, the control stream, and the agent's probes of rules without traffic. */
const spareDescriptors = 64
const maxProbesOfOwner = 256

/**
 * Counts the descriptors that the engine may still open, so that it refuses traffic before EMFILE. The owners of rules
 * share them: each can use free ones, but has a right to an equal share only.
 */
export class Descriptors {
  readonly #capacity = softLimit() - openCount() - spareDescriptors
  readonly #shares = new Map<string, DescriptorShare>() // by owner
  #reserved = 0

  /** Reserves all of `count`, or returns false and reserves none. */
  reserve(count: number): boolean {
    if (this.#reserved + count > this.#capacity) return false
    this.#reserved += count
    return true
  }

  /** True while at least half of them are free. */
  get arePlenty(): boolean {
    return this.#reserved * 2 < this.#capacity
  }

  release(count: number): void {
    this.#reserved -= count
  }

  /** Adds a rule, or a dial of the agent, to the share of its owner. Each `join` needs one `leave`. */
  join(owner: string): DescriptorShare {
    const share = this.#shares.get(owner) ?? new DescriptorShare(this, owner)
    this.#shares.set(owner, share)
    share.members++
    return share
  }

  leave(share: DescriptorShare): void {
    if (--share.members === 0) this.#shares.delete(share.owner)
  }

  /**
   * Reserves one for a dial of the agent, within the part of the owner; its rules can be closed. Returns its release, to be
   * called once; null: none is left.
   */
  reserveOwn(owner: string): (() => void) | null {
    const share = this.join(owner)
    if (!share.reserveOwn()) {
      this.leave(share)
      return null
    }
    return () => {
      share.release(1)
      this.leave(share)
    }
  }

  /** The number of descriptors that each owner with rules or dials has a right to. An only owner has a right to all. */
  get equalShare(): number {
    return this.#shares.size > 1 ? Math.floor(this.#capacity / this.#shares.size) : Number.POSITIVE_INFINITY
  }

  /** True if three quarters are in use: the rest is for owners below their share. */
  get areCrowded(): boolean {
    return (this.#capacity - this.#reserved) * 4 < this.#capacity
  }

  /** Ends connections of the owner that is furthest beyond its share, until it has freed `count`. */
  takeBack(count: number): void {
    let largest: DescriptorShare | null = null
    for (const share of this.#shares.values()) if (share.used > (largest?.used ?? 0)) largest = share
    if (largest && largest.used > this.equalShare) largest.giveBack(count)
  }
}

/** A connection or flow that can be ended to free descriptors. */
export interface DescriptorUser {
  /** Ends it, counted as a refusal. */
  refuse(reason: string): void
}

/** The descriptors in use for the rules of one owner. */
export class DescriptorShare {
  readonly owner: string
  readonly #all: Descriptors
  readonly #users = new Map<DescriptorUser, number>() // with the descriptors of each
  members = 0 // rules, and dials of the agent
  used = 0
  #probes = 0

  constructor(all: Descriptors, owner: string) {
    this.#all = all
    this.owner = owner
  }

  /** Reserves all of `count`, or returns the reason of the refusal. */
  reserve(count: number): 'descriptors' | 'owner_share' | null {
    if (this.#all.areCrowded) {
      if (this.used + count > this.#all.equalShare) return 'owner_share'
      this.#all.takeBack(count) // while the last quarter is free, since sockets need time to close
    }
    if (!this.#all.reserve(count)) return 'descriptors'
    this.used += count
    return null
  }

  release(count: number): void {
    this.used -= count
    this.#all.release(count)
  }

  /** Reserves one that cannot be taken back, so only within the owner's part. Returns false if none is left. */
  reserveOwn(): boolean {
    return this.used < this.#all.equalShare && this.reserve(1) === null
  }

  /** Reserves one for a health probe. Returns false if none is left, or if 256 of the owner are in progress. */
  reserveProbe(): boolean {
    if (this.#probes >= maxProbesOfOwner || !this.reserveOwn()) return false
    this.#probes++
    return true
  }

  releaseProbe(): void {
    this.#probes--
    this.release(1)
  }

  /** `user` has `count` of the reserved descriptors, until `remove`. */
  add(user: DescriptorUser, count: number): void {
    this.#users.set(user, count)
  }

  remove(user: DescriptorUser): void {
    this.#users.delete(user)
  }

  /** Ends the oldest connections and flows. Their descriptors are free when their sockets have closed. */
  giveBack(count: number): void {
    let left = count
    for (const [user, used] of this.#users) {
      if (left <= 0) return
      this.#users.delete(user)
      user.refuse('owner_share')
      left -= used
    }
  }
}

// Only Linux shows both numbers without an addon. Elsewhere accepts and dials fail at the limit.
function softLimit(): number {
  if (process.platform !== 'linux') return Number.POSITIVE_INFINITY
  const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
}

const openCount = (): number => (process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0)
