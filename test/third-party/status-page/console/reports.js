// Console elements. The console sets `api` and `context`, and calls `refresh` when their data may have changed.
const texts = {
  en: {
    none: 'Nobody has reported anything in the last hour.',
    clear: 'Forget all',
    count: n => `${n} in the last hour`
  },
  de: {
    none: 'In der letzten Stunde hat niemand etwas gemeldet.',
    clear: 'Alle vergessen',
    count: n => `${n} in der letzten Stunde`
  }
}

class Count extends HTMLElement {
  async refresh() {
    const reports = await this.api.list('/v1/status-page/reports')
    const link = Object.assign(document.createElement('a'), {
      href: '/pages/status-reports',
      textContent: texts[this.context.language].count(reports.length),
      onclick: event => {
        event.preventDefault()
        this.context.go('/pages/status-reports')
      }
    })
    this.replaceChildren(link)
  }
}

class Reports extends HTMLElement {
  async refresh() {
    const reports = await this.api.list('/v1/status-page/reports')
    const text = texts[this.context.language]
    if (reports.length === 0) return this.replaceChildren(text.none)
    const list = document.createElement('ul')
    list.append(
      ...reports.map(({ at }) => {
        const row = document.createElement('li')
        row.append(new Date(at).toLocaleString(this.context.language))
        return row
      })
    )
    const clear = Object.assign(document.createElement('button'), {
      textContent: text.clear,
      onclick: async () => {
        await this.api.call('DELETE', '/v1/status-page/reports')
        await this.refresh()
      }
    })
    this.replaceChildren(list, clear)
  }
}

customElements.define('status-page-count', Count)
customElements.define('status-page-reports', Reports)
