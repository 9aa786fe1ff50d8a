// The story of one connection: it waits in the lobby, reaches a target, is relayed, ends.
import type { Socket } from 'node:net'
import { reject, type Tally } from '../counters.ts'
import type { Direction, Guest } from '../meters/meter.ts'
import type { Pass } from '../meters/meter-chain.ts'
import { type Reached, reach } from './dialer.ts'
import { enterLobby } from './pending-caller.ts'
import { longestTimerMs, type Relay, relay, reset } from './relay.ts'
import type { Gate } from './tcp-rule.ts'

const dialMs = 30_000

export class Connection implements Guest {
  readonly #caller: Socket
  readonly #port: Tally['ports'][number]
  readonly #gate: Gate
  readonly #leaving = new AbortController()
  #reached: Reached | null = null
  #relay: Relay | null = null

  constructor(caller: Socket, port: Tally['ports'][number], gate: Gate) {
    this.#caller = caller
    this.#port = port
    this.#gate = gate
  }

  /** Resolves when both sockets are closed: no byte is counted after that. */
  async carry(pass: Pass): Promise<void> {
    const callerClosed = closing(this.#caller)
    const leave = () => this.#leaving.abort()
    const limit = setTimeout(leave, dialMs)
    const leaveLobby = enterLobby(this.#caller, leave)

    const outcome = await reach(this.#gate, this.#port.port, this.#leaving.signal)

    clearTimeout(limit)
    leaveLobby()
    if ('refusal' in outcome) this.#refuse(outcome.refusal)
    else await this.#begin(outcome, pass)
    await callerClosed
  }

  /** The filters have changed. A dial is judged again when it has succeeded. */
  judge(): void {
    const refusal = this.#refusal()
    if (refusal !== null) this.#refuse(refusal)
  }

  ready(direction: Direction): void {
    this.#touch()
    this.#relay?.ready(direction)
  }

  cut(): void {
    this.#leaving.abort()
    reset(this.#caller)
    if (this.#reached) reset(this.#reached.socket)
  }

  #begin(reached: Reached, pass: Pass): Promise<void> {
    const { socket } = reached
    const closed = closing(socket)
    this.#reached = reached
    const refusal = this.#refusal()
    if (this.#leaving.signal.aborted || refusal !== null) this.#refuse(refusal)
    else this.#join(reached, pass)
    return closed
  }

  #join({ socket, index, isFailover }: Reached, pass: Pass): void {
    const { tally } = this.#gate
    const port = this.#port
    const target = tally.targets[index]
    if (!target) throw new TypeError(`target ${index} is not of this rule`)
    target.connectionsTotal++
    if (isFailover) tally.targetFailovers++
    this.#watch()
    this.#relay = relay(this.#caller, socket, {
      reserve: pass.reserve,
      returned: pass.returned,
      delivered(direction, bytes) {
        const counter = direction === 'in' ? 'bytesIn' : 'bytesOut'
        port[counter] += bytes
        target[counter] += bytes
        pass.delivered(direction, bytes)
      }
    })
  }

  /** Whatever passes touches the caller's socket, so its silence is the connection's; one that is held is not idle. */
  #watch(): void {
    this.#caller.on('timeout', () => {
      if (this.#relay?.isWaiting()) this.#touch()
      else this.cut()
    })
    this.#touch()
  }

  #touch(): void {
    this.#caller.setTimeout(Math.min(this.#gate.rule.idleMs, longestTimerMs))
  }

  #refusal(): string | null {
    const { address, port, host } = this.#reached ?? {}
    const source = this.#gate.sourceRefusal(this.#caller)
    if (source !== null || address === undefined || port === undefined || host === undefined) return source
    return this.#gate.targetRefusal(address, port, host)
  }

  #refuse(reason: string | null): void {
    if (reason !== null && !this.#leaving.signal.aborted) reject(this.#gate.tally, reason)
    this.cut()
  }
}

const closing = (socket: Socket): Promise<void> =>
  new Promise(resolve => socket.once('close', () => resolve()))
