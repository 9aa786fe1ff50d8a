// Where a text can be found after a run: in what processes said, in files, in answers, in the process list.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type Process, type Ran, sluice } from '../support/process.ts'

export interface SecretSearch {
  /** A process whose output counts, under this name. */
  watchProcess(name: string, process: Process): void
  /** A command that ends; its output and arguments count. */
  run(
    name: string,
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
    input?: string
  ): Promise<Ran>
  /** A request whose answer counts, headers too. */
  ask(method: string, url: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<Answer>
  /** Looks at all files and processes as they are now. */
  scan(dirs: Readonly<Record<string, string>>): void
  /** Every place in which a text was seen. */
  placesOf(text: string): readonly string[]
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

export function openSecretSearch(): SecretSearch {
  const texts = new Map<string, string>()
  const put = (place: string, text: string): void =>
    void texts.set(place, `${texts.get(place) ?? ''}${text}\n`)
  const watched = new Map<string, Process>()

  return {
    watchProcess(name, process) {
      watched.set(name, process)
    },
    async run(name, args, env = {}, input = '') {
      const ran = await sluice(args, env, input)
      put(`output of ${name}`, ran.stdout + ran.stderr)
      put(`arguments of ${name}`, args.join(' '))
      return ran
    },
    async ask(method, url, body, headers = {}) {
      const sent = body && { body: JSON.stringify(body) }
      const type = body && { 'content-type': 'application/json' }
      const reply = await fetch(url, { method, headers: { ...type, ...headers }, ...sent })
      const text = await reply.text()
      const told = [...reply.headers].map(([key, value]) => `${key}: ${value}`).join('\n')
      put(
        `answer to ${method} ${new URL(url).pathname.replaceAll(/[0-9A-Z]{26}/g, ':id')}`,
        `${told}\n${text}`
      )
      return { status: reply.status, headers: reply.headers, body: text === '' ? {} : JSON.parse(text) }
    },
    scan(dirs) {
      for (const [name, dir] of Object.entries(dirs))
        for (const file of filesIn(dir))
          put(`file ${name}/${relative(dir, file)}`, readFileSync(file, 'latin1'))
      for (const [name, { pid }] of watched)
        for (const member of familyOf(pid)) {
          put(`arguments of ${name}`, procOf(member, 'cmdline'))
          put(`environment of ${name}`, procOf(member, 'environ'))
        }
    },
    placesOf(text) {
      for (const [name, process] of watched) texts.set(`output of ${name}`, process.output())
      return [...texts].filter(([, found]) => found.includes(text)).map(([place]) => place)
    }
  }
}

const filesIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))

/** Every file and folder from here on, with its permissions in octal. */
export const modesIn = (dir: string): readonly string[] =>
  ['.', ...readdirSync(dir, { recursive: true, encoding: 'utf8' })].map(name => {
    const stat = statSync(join(dir, name))
    return `${stat.isDirectory() ? 'dir' : 'file'} ${(stat.mode & 0o777).toString(8)}`
  })

/** A process and all that it has started. */
function familyOf(pid: number): readonly number[] {
  const children = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(child => parentOf(child) === pid)
  return [pid, ...children.flatMap(familyOf)]
}

/** The name of the program stands in brackets, and may hold some. */
const parentOf = (pid: number): number => Number(procOf(pid, 'stat').split(')').at(-1)?.trim().split(' ')[1])

/** Empty for a process that has ended meanwhile. */
function procOf(pid: number, file: 'cmdline' | 'environ' | 'stat'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    return ''
  }
}
