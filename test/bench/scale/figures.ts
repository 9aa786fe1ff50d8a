// The figures of the page, one value per size.
export interface Figure {
  readonly name: string
  readonly unit: string
  readonly of: string // the quantities that grow with the size
  readonly values: number[]
}

export function openFigures() {
  const figures = new Map<string, Figure>()

  function note(name: string, unit: string, of: string, value: number): void {
    const figure = figures.get(name) ?? { name, unit, of, values: [] }
    figure.values.push(value)
    figures.set(name, figure)
    console.error(`${name}: ${value.toPrecision(3)} ${unit}`)
  }

  /** Returns the rows of a Markdown table, in the order of `note`. */
  function rows(factors: readonly number[]): string[] {
    return [...figures.values()].map(({ name, unit, of, values }) => {
      const cells = values.map(value => value.toPrecision(3)).join(' | ')
      return `| ${name} | ${unit} | ${of} | ${cells} | ${exponentOf(values, factors)} |`
    })
  }

  return { note, rows, last: (name: string): number => figures.get(name)?.values.at(-1) ?? 0 }
}
export type Note = ReturnType<typeof openFigures>['note']

/** Returns the slope of the figure over the size on logarithmic scales: 1 is linear. */
function exponentOf(values: readonly number[], factors: readonly number[]): string {
  const first = values[0] ?? 0
  const last = values.at(-1) ?? 0
  if (values.length < 2 || first <= 0 || last <= 0) return ''
  return (Math.log(last / first) / Math.log((factors.at(-1) ?? 1) / (factors[0] ?? 1))).toFixed(2)
}
