import type { Kernel } from '../services.ts'
import { defineSlot } from '../slot.ts'
import type { BoundHandler } from '../wire/message.ts'
import type { Control } from './control.ts'
import type { Peer, UnauthenticatedPeer } from './peers.ts'

/** The control host opens before the plugins are wired. */
export interface ControlOptions extends Pick<Kernel, 'store' | 'clock' | 'log' | 'codec' | 'filled'> {
  readonly configOf: (plugin: string) => Kernel['config'] // validated: its section and its keys
  readonly dataDir: string
  readonly version: string // of the server
  /** Call it, like `filled`, only once a stream arrives. */
  readonly handlers: (peer: Peer, message: string) => readonly BoundHandler[]
  readonly preAuthHandlers: (peer: UnauthenticatedPeer) => readonly BoundHandler[]
}

export interface ControlHost extends Control {
  listen(): Promise<void>
  /** Hands the agents over to peer servers; without any it does nothing. */
  leave(): Promise<void>
  close(): Promise<void>
}

/** Exactly one plugin fills it, with a bare value: it is read before services exist. */
export const controlSlot = defineSlot<(options: ControlOptions) => Promise<ControlHost>>('kernel.control')
