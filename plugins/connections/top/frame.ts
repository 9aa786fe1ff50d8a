// The frame of `sluice top`: lines of the terminal's width.
import { escapeControlChars } from '../../../kernel/base/log.ts'
import { cut, pad, widthOf } from '../../cli/command-exports.ts'
import { formatSize } from '../../http/command-exports.ts'
import type { ConnectionsEvent } from '../schema.ts'
import { type Column, columns, duration, fitting, type RatedRow, rate, sorted } from './columns.ts'

type Style = 'plain' | 'bold' | 'inverse' | 'red' | 'yellow'

export interface Line {
  readonly text: string
  readonly style: Style
}

export interface State {
  readonly origin: string
  readonly event: ConnectionsEvent | null // null: none received
  readonly rows: readonly RatedRow[]
  readonly lost: { readonly since: number; readonly cause: string } | null // ms since 1970
  readonly filter: string
  readonly sort: Column
  readonly isReversed: boolean
  readonly index: number // of the selected row
  readonly page: 'connections' | 'clients' | 'help'
  /** The last line: a question or a result; '' shows the keys. */
  readonly message: string
}

export interface Size {
  readonly width: number
  readonly height: number
}

const headLines = 5

export const rowsOnPage = ({ height }: Size): number => Math.max(1, height - headLines - 1)

export function shownRows({ rows, sort, isReversed, event }: State): readonly RatedRow[] {
  return event ? sorted(rows, sort, isReversed, cellsOf(event)) : []
}

const cellsOf = ({ at, clients }: ConnectionsEvent) => {
  const names = new Map(clients.map(({ client_id, client_name }) => [client_id, client_name]))
  return { at: Date.parse(at), clientName: (id: string) => names.get(id) ?? id }
}

/** Returns exactly `height` lines. */
export function frame(state: State, size: Size, now: number): readonly Line[] {
  const body = bodyOf(state, size)
  const head = [titleOf(state, now), totalsOf(state), clientsOf(state), filterOf(state)]
  const lines = [...head, ...body.slice(0, size.height - head.length - 1)]
  while (lines.length < size.height - 1) lines.push(plain(''))
  return [...lines, lastOf(state, size)].slice(-size.height).map(({ text, style }) => ({
    style,
    text: cut(escapeControlChars(text), size.width)
  }))
}

const plain = (text: string): Line => ({ text, style: 'plain' })

function titleOf({ origin, event, lost }: State, now: number): Line {
  const title = `sluice top  ${origin}  `
  if (lost)
    return {
      text: `${title}LOST ${duration((now - lost.since) / 1000)} ago, reconnecting: ${lost.cause}`,
      style: 'red'
    }
  return { text: `${title}${event ? `live  ${event.at.slice(11, 19)} UTC` : 'connecting'}`, style: 'bold' }
}

function totalsOf({ event, rows, lost }: State): Line {
  if (!event) return plain('')
  const sum = (key: 'in_rate' | 'out_rate') => rows.reduce((total, row) => total + (row[key] ?? 0), 0)
  const isPart = rows.length < event.matched
  const rates = `in ${rate(sum('in_rate'))}/s  out ${rate(sum('out_rate'))}/s${isPart ? ` (of these ${rows.length})` : ''}`
  const delivered = `delivered ${formatSize(event.bytes_in)} in, ${formatSize(event.bytes_out)} out`
  return plain(`${event.matched} open  ${lost ? '' : `${rates}  `}${delivered}`)
}

function clientsOf({ event }: State): Line {
  if (!event) return plain('')
  const { clients, clients_answered: answered, clients_silent: silent } = event
  if (silent === 0) return plain(`clients: all ${answered} answer`)
  const named = clients
    .filter(({ matched }) => matched === null)
    .slice(0, 5)
    .map(({ client_name, state }) => `${client_name} (${state.replace('_', ' ')})`)
  const more = silent > named.length ? ', ...' : ''
  return {
    text: `clients: ${answered} answer, ${silent} do not: ${named.join(', ')}${more}`,
    style: 'yellow'
  }
}

function filterOf({ filter, sort, isReversed, event, rows }: State): Line {
  const order = `sort ${sort.name}${isReversed ? ', turned' : ''}`
  const part = event && rows.length < event.matched ? `  first ${rows.length} by ${sort.first}` : ''
  return plain(`filter ${filter || 'none'}  ${order}${part}`)
}

function bodyOf(state: State, size: Size): readonly Line[] {
  if (state.page === 'help') return help()
  if (state.page === 'clients') return clientLines(state)
  return connectionLines(state, size)
}

function connectionLines(state: State, size: Size): readonly Line[] {
  const { event } = state
  const fitted = fitting(size.width - 1)
  const lineOf = (cellOf: (column: Column) => string): string =>
    fitted
      .map(({ column, width }) => {
        const cell = cut(escapeControlChars(cellOf(column)), width)
        return column.isNumber ? ' '.repeat(width - widthOf(cell)) + cell : pad(cell, width)
      })
      .join(' ')
  const head: Line = {
    text: pad(` ${lineOf(({ name }) => name.toUpperCase())}`, size.width),
    style: 'inverse'
  }
  if (!event) return [head, plain(''), plain(' waiting for the first event')]
  const rows = shownRows(state)
  if (rows.length === 0) return [head, plain(''), plain(` ${emptyText(state, event)}`)]
  const { from, to, index } = pageOf(state, rows.length, size)
  const cells = cellsOf(event)
  const lines = rows.slice(from, to).map((row, at): Line => {
    const isSelected = from + at === index
    const text = `${isSelected ? '>' : ' '}${lineOf(column => column.cell(row, cells))}`
    return { text, style: isSelected ? 'bold' : 'plain' }
  })
  return [head, ...lines]
}

function emptyText({ filter }: State, { clients_silent }: ConnectionsEvent): string {
  const text = filter === '' ? 'no connections are open' : 'no open connections match the filter'
  return clients_silent === 0 ? text : `${text}, on the clients that answer`
}

/** Returns the page that contains the selected row. */
function pageOf({ index }: Pick<State, 'index'>, count: number, size: Size) {
  const length = rowsOnPage(size)
  const selected = Math.max(0, Math.min(index, count - 1))
  const number = Math.floor(selected / length)
  return {
    index: selected,
    from: number * length,
    to: (number + 1) * length,
    number: number + 1,
    pages: Math.max(1, Math.ceil(count / length))
  }
}

function clientLines({ event }: State): readonly Line[] {
  const head: Line = { text: ' CLIENT                          STATE              OPEN', style: 'inverse' }
  const lines = (event?.clients ?? []).map(({ client_name, state, matched }): Line => {
    const open = matched === null ? 'unknown' : String(matched)
    return {
      text: ` ${pad(cut(escapeControlChars(client_name), 30), 30)}  ${pad(state.replace('_', ' '), 12)} ${open.padStart(10)}`,
      style: matched === null ? 'yellow' : 'plain'
    }
  })
  const all = event ? event.clients_answered + event.clients_silent : 0
  return [head, ...lines, ...(all > lines.length ? [plain(` and ${all - lines.length} more`)] : [])]
}

const help = (): readonly Line[] => {
  const names = columns.map(({ key, name }) => `${key} ${name}`)
  const sorts = [names.slice(0, 8), names.slice(8)].map(some => plain(`   ${some.join('   ')}`))
  return [
    { text: ' KEYS', style: 'inverse' },
    plain(' sort; press the same key again to reverse:'),
    ...sorts,
    plain(' f  filter: source=, rule=, client=, owner=, protocol=, target=; empty: all'),
    plain(' up down  select   PgUp PgDn < > space  page   Home End'),
    plain(' k  close the selected connection   K  close all that match the filter'),
    plain(' e  clients   ? h  help   ^Z  suspend   q ^C  quit   Esc  back'),
    plain(''),
    plain(' Rates are bit/s between two events. in: caller to target, out: target to caller.'),
    plain(' held_by: the limit or quota that delays it. divert: the plugin that chose its target.'),
    plain(' rtt (ms), resent: caller / target.')
  ]
}

function lastOf(state: State, size: Size): Line {
  if (state.message !== '') return { text: state.message, style: 'bold' }
  const { number, pages } = pageOf(state, state.rows.length, size)
  const keys = '? help  f filter  k close  K close all  e clients  q quit'
  return { text: `${pad(keys, size.width - 16)} page ${number} of ${pages}`, style: 'plain' }
}
