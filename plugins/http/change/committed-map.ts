// Counts in memory that changes update.
import type { EntityManager } from '@mikro-orm/sql'
import { afterCommit } from '../../../kernel/store/after-commit.ts'

/** A map with transactional updates: a change sees its own at once, others see them after the commit. */
export class CommittedMap<K, V> extends Map<K, V> {
  readonly #own = new WeakMap<EntityManager, Map<K, V>>()

  seenBy(em: EntityManager, key: K): V | undefined {
    return this.#own.get(em)?.get(key) ?? this.get(key)
  }

  setBy(em: EntityManager, key: K, value: V): void {
    const own = this.#own.get(em) ?? new Map<K, V>()
    this.#own.set(em, own.set(key, value))
    afterCommit(em, () => this.set(key, value))
  }
}
