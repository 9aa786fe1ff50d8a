// A strict parser of the Prometheus text format. Throws for invalid, misplaced and duplicate lines.

export interface Family {
  readonly type: string
  readonly help: string
  /** Values by labels as written, '' without labels. Histogram keys start with the suffix: '_bucket{le="1"}'. */
  readonly series: Map<string, number>
}

const sample =
  /^([a-zA-Z_:][a-zA-Z0-9_:]*)((?:\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})?) (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|NaN|[+-]Inf)$/

export function readExposition(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line has no line feed')
  const families = new Map<string, Family>()
  let current = ''
  let help = ''
  for (const line of text.split('\n')) {
    const [, keyword, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? []
    if (keyword === 'HELP') help = rest
    else if (keyword === 'TYPE') {
      if (families.has(name)) throw new Error(`${name} is declared twice`)
      families.set(name, { type: rest, help, series: new Map() })
      current = name
    } else if (line !== '' && !line.startsWith('#')) addSample(line, current, families)
  }
  return families
}

function addSample(line: string, current: string, families: ReadonlyMap<string, Family>): void {
  const [, name = '', labels = '', value] = sample.exec(line) ?? []
  if (value === undefined) throw new Error(`not a sample: ${line}`)
  const family = families.get(current)
  const suffix = name.slice(current.length)
  const suffixes = family?.type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
  if (!family || !name.startsWith(current) || !suffixes.includes(suffix))
    throw new Error(`${name} is listed under ${current}`)
  const key = suffix === '' ? labels.slice(1, -1) : suffix + labels
  if (family.series.has(key)) throw new Error(`duplicate: ${line}`)
  family.series.set(key, Number(value.replace('Inf', 'Infinity')))
}
