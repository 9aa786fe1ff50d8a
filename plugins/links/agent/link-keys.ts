// The keys of an agent: the one in use, and during a rotation the next one. Each is a file with the key and its certificate.
import { X509Certificate } from 'node:crypto'
import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Clock } from '../../../kernel/base/clock.ts'
import { requirePrivateFile } from '../../../kernel/base/directory.ts'
import type { Log } from '../../../kernel/base/log.ts'
import { syncDir } from '../../../kernel/platform/sync-file.ts'
import { type LinkCertificate, makeLinkCertificate, pinOf } from './transport/make-link-certificate.ts'
import { type LinkContext, linkContext } from './transport/tls-settings.ts'

/** A key with its pin. */
interface LinkKey {
  readonly certificate: LinkCertificate
  readonly context: LinkContext
  readonly pin: string
  readonly madeAt: number // ms since 1970
}

interface Options {
  readonly stateDir: string
  readonly clock: Pick<Clock, 'now'>
  readonly log: Log
}

export class LinkKeys {
  readonly #options: Options
  readonly #file: string
  readonly #nextFile: string
  #current: LinkKey
  #next: LinkKey | null

  /** Reads the keys. Makes one if there is none. Throws Fault if others may read a file. */
  constructor(options: Options) {
    this.#options = options
    this.#file = join(options.stateDir, 'link.pem')
    this.#nextFile = join(options.stateDir, 'link-next.pem')
    this.#current = this.#read(this.#file) ?? this.#make(this.#file)
    this.#next = this.#read(this.#nextFile)
  }

  get context(): LinkContext {
    return this.#current.context
  }

  get pin(): string {
    return this.#current.pin
  }

  get nextPin(): string | null {
    return this.#next?.pin ?? null
  }

  get ageMs(): number {
    return this.#options.clock.now() - this.#current.madeAt
  }

  /** Age of the next key; 0 without one. */
  get nextAgeMs(): number {
    return this.#next ? this.#options.clock.now() - this.#next.madeAt : 0
  }

  /** Makes the next key, unless there is one. */
  makeNext(): void {
    this.#next ??= this.#make(this.#nextFile)
  }

  /** Uses the next key from now on. Returns false without one. */
  switchToNext(): boolean {
    if (!this.#next) return false
    this.#save(() => {
      renameSync(this.#nextFile, this.#file)
      syncDir(dirname(this.#file))
    })
    this.#current = this.#next
    this.#next = null
    return true
  }

  /** A damaged file is replaced: peers learn the new pin from the server. */
  #read(file: string): LinkKey | null {
    try {
      requirePrivateFile(file, 'the key of links')
      const text = readFileSync(file, 'utf8')
      const [key = ''] = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----\n/.exec(text) ?? []
      return toKey({ key, cert: text.slice(key.length) })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException // other errors have none, or one of OpenSSL
      if (code === 'ENOENT') return null
      if (code === undefined && error instanceof Error && error.name === 'Fault') throw error
      this.#options.log.error('link.key_damaged', `${file} is replaced: ${String(error)}`)
      return null
    }
  }

  #make(file: string): LinkKey {
    const certificate = makeLinkCertificate(this.#options.clock.now())
    this.#save(() => writeKey(file, certificate))
    return toKey(certificate)
  }

  /** Without its file, the key lasts until the agent stops. */
  #save(write: () => void): void {
    try {
      write()
    } catch (error) {
      this.#options.log.error('link.key_not_saved', `the next start makes another key: ${String(error)}`)
    }
  }
}

function toKey(certificate: LinkCertificate): LinkKey {
  const { raw, validFrom } = new X509Certificate(certificate.cert)
  return { certificate, context: linkContext(certificate), pin: pinOf(raw), madeAt: Date.parse(validFrom) }
}

/** Writes the file atomically and durably, for its owner only. */
function writeKey(file: string, { key, cert }: LinkCertificate): void {
  const draft = `${file}.tmp`
  rmSync(draft, { force: true })
  const fd = openSync(draft, 'wx', 0o600)
  try {
    writeFileSync(fd, key + cert, { flush: true })
  } finally {
    closeSync(fd)
  }
  renameSync(draft, file)
  syncDir(dirname(file))
}
