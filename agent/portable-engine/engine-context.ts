// What the rules of one engine share, and what they are to it.
import type { Socket } from 'node:net'
import type { EngineEvent, EngineRule, Resolved } from '../engine.ts'
import type { Tally } from './counters.ts'
import type { Meters } from './meters/meter-chain.ts'
import type { Descriptors } from './net/descriptors.ts'
import type { OwnPorts } from './net/own-ports.ts'
import type { Entrances } from './tcp/listeners.ts'
import type { Peeks } from './tcp/peek-histogram.ts'

export interface Ground {
  readonly bind: readonly string[]
  readonly ownPorts: OwnPorts
  readonly descriptors: Descriptors
  readonly meters: Meters
  readonly peeks: Peeks
  emit(event: EngineEvent): void
  ask(ruleId: number, host: string): Promise<Resolved>
}

/** Of TCP rules. */
export interface TcpGround extends Ground {
  readonly entrances: Entrances
}

/** Who takes callers. */
export interface Host {
  readonly rule: EngineRule
  readonly tally: Tally
  meet(caller: Socket, port: number): void
}
