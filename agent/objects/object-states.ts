// The objects on this agent, each in one state. README.md shows the transitions.
import { objectKey } from '../../kernel/wire/control.ts'
import type { AgentApplyResult, ApplyOrder } from '../plugin.ts'
import type { Failure } from './object-kinds.ts'
import type { SavedObject } from './object-store.ts'

export type ObjectState =
  | { readonly name: 'applied' }
  | { readonly name: 'deferred' } // not applied yet: waits for its group
  | { readonly name: 'failed'; readonly failure: Failure; readonly retries: number }

export interface PresentObject {
  readonly object: SavedObject
  readonly order: ApplyOrder | null
  readonly state: ObjectState
}

export class ObjectStates {
  readonly #present = new Map<string, PresentObject>()

  get(object: Pick<SavedObject, 'kind' | 'id'>): PresentObject | undefined {
    return this.#present.get(objectKey(object))
  }

  set(present: PresentObject): void {
    this.#present.set(objectKey(present.object), present)
  }

  delete(object: Pick<SavedObject, 'kind' | 'id'>): void {
    this.#present.delete(objectKey(object))
  }

  all(): PresentObject[] {
    return [...this.#present.values()]
  }

  applied(): SavedObject[] {
    return this.all().flatMap(({ object, state }) => (state.name === 'applied' ? [object] : []))
  }

  /** Returns the deferred objects of a kind in apply order. */
  deferred(kind: string): PresentObject[] {
    return this.all()
      .filter(({ object, state }) => state.name === 'deferred' && object.kind === kind)
      .sort(byRank)
  }

  /** Returns a failed object and the other failed objects of its group, in apply order. */
  failedWith(due: PresentObject): PresentObject[] {
    if (!due.order) return [due]
    const { group } = due.order
    return this.all()
      .filter(({ state }) => state.name === 'failed')
      .filter(({ object, order }) => object.kind === due.object.kind && order?.group === group)
      .sort(byRank)
  }

  resetRevisions(): void {
    for (const present of this.all()) this.set({ ...present, object: { ...present.object, revision: 0 } })
  }
}

const deferred: Failure = { code: 'deferred', message: 'waits for the other objects of its group' }

/** Returns why an object is not in force, or null. */
export function reasonOf(state: ObjectState): Failure | null {
  if (state.name === 'applied') return null
  return state.name === 'deferred' ? deferred : state.failure
}

export const stateAfter = (failure: Failure | null, retries = 0): ObjectState =>
  failure ? { name: 'failed', failure, retries } : { name: 'applied' }

export function resultOf({ object, state }: Pick<PresentObject, 'object' | 'state'>): AgentApplyResult {
  const { revision } = object
  const reason = reasonOf(state)
  return reason
    ? { status: 'refused', revision, code: reason.code, message: reason.message }
    : { status: 'applied', revision }
}

export const byRank = (a: Pick<PresentObject, 'order'>, b: Pick<PresentObject, 'order'>): number =>
  (a.order?.rank ?? 0) - (b.order?.rank ?? 0)
