// Accepts streams before Hello. The network pays for their work, and the client from Welcome on.
import type { ControlOptions } from '../../../kernel/control/host.ts'
import { Hello } from '../../../kernel/wire/control.ts'
import { handshakeFrameLimit } from '../../../kernel/wire/frame.ts'
import type { BoundHandler, Codec } from '../../../kernel/wire/message.ts'
import { Stream } from '../../../kernel/wire/stream.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { endStream } from './end-stream.ts'
import type { Handshake } from './handshake.ts'
import type { IncomingStream } from './listener.ts'
import type { StreamCounters } from './metrics.ts'
import type { WorkBudget, WorkBudgets } from './work-budget.ts'

interface Services extends Pick<ControlOptions, 'clock' | 'log' | 'codec' | 'preAuthHandlers'> {
  readonly handshake: Handshake
  readonly counters: StreamCounters
  readonly sessions: Sessions
  readonly budgets: WorkBudgets
}

// Charged in addition to the measured work. Low for networks, because a fleet may share an address.
const joinMs = 5
const unauthenticatedMessageMs = 0.5

export function openStreamAcceptor({ handshake, counters, sessions, budgets, ...services }: Services) {
  const { clock, log, codec, preAuthHandlers } = services
  const countingCodec = counters.countingCodec(codec)

  return ({ socket, remoteAddr, budget, admit, refuseWith }: IncomingStream): void => {
    let payer: WorkBudget = budget
    const hello: BoundHandler = {
      name: Hello.name,
      async run(_, bytes) {
        const { agent, welcome, isCurrent } = await handshake(codec.decode(Hello, bytes), remoteAddr)
        const own = budgets.of(agent.clientId)
        own.charge(joinMs)
        await own.turn()
        const afterSend = (): void => {
          payer = own
          admit()
          if (isCurrent()) sessions.join(agent, stream, own)
          else endStream(stream, 'store_restored')
        }
        return { name: Hello.response.name, body: codec.encode(Hello.response, welcome), afterSend }
      }
    }
    const handlers = [hello, ...preAuthHandlers({ remoteAddr })]
      .map(counters.countingFailures)
      .map(handler => budget.handler(handler, unauthenticatedMessageMs))
    const chargedCodec: Codec = {
      ...countingCodec,
      encode(message, body) {
        const bytes = countingCodec.encode(message, body)
        payer.chargeFor(bytes.length)
        return bytes
      },
      decode: (message, bytes) => payer.spendOn(bytes.length, () => countingCodec.decode(message, bytes))
    }
    const limits = { frameBytes: handshakeFrameLimit }
    const stream = new Stream({ socket, codec: chargedCodec, handlers, clock, log, limits })
    refuseWith(withinMs => endStream(stream, 'full', withinMs))
    socket.on('data', () => {
      if (!payer.isExceeded) return
      socket.pause()
      void payer.turn().then(() => socket.resume())
    })
  }
}
