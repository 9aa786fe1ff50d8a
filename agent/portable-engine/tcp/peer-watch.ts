// Finds peers that are gone without an event: libuv does not watch a socket that is not read, and Node has no
// TCP_USER_TIMEOUT. native/src/dead-peer.h has the second check, too.
import type { Socket } from 'node:net'
import { inodeOf, isEndedByKernel, readUnanswered, type Unanswered } from './socket-table.ts'

const endCheckMs = 1_000
const deadPeerChecks = 8 // in the time after which a peer has failed
const firstChecks = 2
const pausePerRead = 10 // reading the table takes at most a tenth of the time

/** The reaction of a connection to the peer of one of its sockets. */
interface PeerHandler {
  /** The kernel has ended the connection of a socket that is not read. Called once. */
  readonly onEnded: () => void
  /** The peer has acknowledged nothing for `deadPeerMs` while data was under way. Called once. */
  readonly onDead: () => void
}

interface Watched extends PeerHandler {
  readonly socket: Socket
  isEnded: boolean
  isNew: boolean // not seen by a check for dead peers
  inode: string | null | undefined // undefined: not asked for yet
  cleanMark: number // `sentMark` when everything was acknowledged
  last: Unanswered
  stuckChecks: number // in a row without an acknowledgement
  firstTries: number // in the first of them
}

export class PeerWatch {
  readonly #deadPeerMs: number // 0: never
  readonly #watched = new Set<Watched>()
  #endChecks: NodeJS.Timeout | undefined
  #nextDeadCheck: NodeJS.Timeout | undefined

  constructor(deadPeerMs: number) {
    this.#deadPeerMs = deadPeerMs
  }

  /** Watches the socket until it closes. */
  watch(socket: Socket, handler: PeerHandler): void {
    const watched: Watched = {
      ...handler,
      socket,
      isEnded: false,
      isNew: true,
      inode: undefined,
      cleanMark: 0,
      last: nothing,
      stuckChecks: 0,
      firstTries: 0
    }
    this.#watched.add(watched)
    socket.once('close', () => {
      this.#watched.delete(watched)
      if (this.#watched.size === 0) this.#stop()
    })
    if (this.#watched.size === 1) this.#start()
  }

  #start(): void {
    this.#stop()
    this.#endChecks = setInterval(() => this.#checkEnds(), endCheckMs).unref()
    if (this.#deadPeerMs > 0) this.#armDeadCheck(0)
  }

  #stop(): void {
    clearInterval(this.#endChecks)
    clearTimeout(this.#nextDeadCheck)
  }

  #checkEnds(): void {
    for (const watched of this.#watched) {
      const { socket } = watched
      const isUnread = socket.readableEnded || socket.readableLength > 0
      if (!isUnread || watched.isEnded || socket.destroyed || !isEndedByKernel(socket)) continue
      watched.isEnded = true
      watched.onEnded()
    }
  }

  #armDeadCheck(tookMs: number): void {
    const pauseMs = Math.max(this.#deadPeerMs / deadPeerChecks, pausePerRead * tookMs)
    this.#nextDeadCheck = setTimeout(() => this.#checkDead(), pauseMs).unref()
  }

  /** Reads the table only if there is more to acknowledge, and not for connections that are over by the next check. */
  #checkDead(): void {
    const began = performance.now()
    const sending = [...this.#watched].filter(one => !one.isNew && sentMark(one.socket) !== one.cleanMark)
    for (const one of this.#watched) one.isNew = false
    const table = sending.length === 0 ? new Map<string, Unanswered>() : readUnanswered()
    for (const watched of sending) {
      if (!isDead(watched, table)) continue
      this.#watched.delete(watched)
      watched.onDead()
    }
    if (this.#watched.size > 0) this.#armDeadCheck(performance.now() - began)
  }
}

const nothing: Unanswered = { bytes: 0, tries: 0 }

/** Grows with the bytes that were sent, and with the FIN. */
const sentMark = ({ bytesWritten, writableEnded }: Socket): number => bytesWritten + Number(writableEnded)

/** A live peer answers window probes, even if it does not read. See native/src/dead-peer.h. */
function isDead(watched: Watched, table: ReadonlyMap<string, Unanswered>): boolean {
  const { socket, last } = watched
  watched.inode ??= inodeOf(socket)
  const now = table.get(watched.inode ?? '') ?? nothing
  const hasAnswered = now.tries === 0 || now.tries < last.tries || now.bytes < last.bytes
  watched.stuckChecks = hasAnswered || last.tries === 0 ? 0 : watched.stuckChecks + 1
  if (watched.stuckChecks <= firstChecks) watched.firstTries = now.tries
  watched.last = now
  if (now.bytes === 0 && socket.writableLength === 0) watched.cleanMark = sentMark(socket)
  return watched.stuckChecks >= deadPeerChecks && now.tries > watched.firstTries
}
