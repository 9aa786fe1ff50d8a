// The control stream's server side: listener, Hello, sessions, and what shall live on the agents.
import type { Kernel } from '../plugin.ts'
import { Hello } from '../wire/control.ts'
import { greetingLimit } from '../wire/frame.ts'
import type { Bound } from '../wire/message.ts'
import { openStream } from '../wire/stream.ts'
import type { Certificate } from './certificate.ts'
import type { Control } from './control.ts'
import { openGeneration, openGreet } from './greet.ts'
import { openHeld } from './held.ts'
import { type Entrant, openListener } from './listener.ts'
import type { Peer, Stranger } from './peers.ts'
import { openSessions } from './sessions.ts'

/** `filled`, `handlers` and `greetings` are called only when a stream comes: not before the plugins are wired. */
export interface ControlOptions extends Pick<Kernel, 'store' | 'clock' | 'log' | 'codec' | 'filled'> {
  readonly listen: string // '[::]:7443' (dual stack, else 0.0.0.0), '127.0.0.1:0'
  readonly certificate: Certificate
  readonly version: string // of the server
  readonly handlers: (peer: Peer) => readonly Bound[]
  readonly greetings: (stranger: Stranger) => readonly Bound[]
}

export interface ControlHost extends Control {
  listen(): Promise<void>
  close(): Promise<void>
}

export async function openControl(options: ControlOptions): Promise<ControlHost> {
  const { certificate, store, clock, log, codec, greetings } = options
  const generation = await openGeneration(store)
  const greet = openGreet({ ...options, generation })
  const sessions = openSessions({ ...options, generation })
  const listener = openListener({ ...options, enter })
  let port = 0

  function enter({ socket, remoteAddr, admit }: Entrant): void {
    const hello: Bound = {
      name: Hello.name,
      async run(_, bytes) {
        const { known, welcome } = await greet(codec.decode(Hello, bytes), remoteAddr)
        const sent = (): void => {
          admit()
          sessions.join(known, stream)
        }
        return { name: Hello.answer.name, body: codec.encode(Hello.answer, welcome), sent }
      }
    }
    const handlers = [hello, ...greetings({ remoteAddr })]
    const limits = { frameBytes: greetingLimit }
    const stream = openStream({ socket, codec, handlers, clock, log, limits })
  }

  return {
    peers: { find: sessions.find, all: sessions.all },
    held: openHeld(sessions.wake),
    fingerprint: certificate.fingerprint,
    certificate: certificate.cert,
    port() {
      if (port === 0) throw new TypeError('the control stream is not up yet: its port is not known')
      return port
    },
    async listen() {
      port = await listener.start()
    },
    async close() {
      await sessions.close()
      await listener.close()
    }
  }
}
