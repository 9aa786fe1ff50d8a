// The console sets `api` and `context`, and calls `refresh` when the data may have changed.
const texts = {
  intro: { en: 'Notes go as JSON to your URL.', de: 'Nachrichten gehen als JSON an deine URL.' },
  client: { en: 'A client goes offline or returns', de: 'Ein Client geht offline oder kehrt zurück' },
  rule: { en: 'A rule fails', de: 'Eine Regel fällt aus' },
  quota: { en: 'A quota reaches 80 or 100 %', de: 'Ein Kontingent erreicht 80 oder 100 %' },
  url: { en: 'New URL', de: 'Neue URL' },
  save: { en: 'Save', de: 'Speichern' },
  test: { en: 'Send a test note', de: 'Testnachricht senden' },
  waiting: { en: 'Waiting notes', de: 'Wartende Nachrichten' },
  last: { en: 'Last attempt', de: 'Letzter Versuch' }
}
const kinds = ['client', 'rule', 'quota']

class Page extends HTMLElement {
  async refresh() {
    const state = await this.api.call('GET', '/v1/notifier')
    const { language } = this.context
    if (this.language !== language) this.render(state, key => texts[key][language])
    this.language = language
    const values = { waiting: state.waiting, last: state.last_result ?? '-' }
    const parts = Object.entries(values).map(([key, value]) => `${texts[key][language]}: ${value}`)
    this.querySelector('output').textContent = parts.join('. ')
  }

  render(state, text) {
    const box = kind => `<p><label><input type="checkbox" name="${kind}"> ${text(kind)}</label></p>`
    this.innerHTML = `<form><p>${text('intro')}</p>${kinds.map(box).join('')}
      <p><label>${text('url')} <input type="url" name="url" size="60" autocomplete="off"></label></p>
      <p><button>${text('save')}</button> <button type="button">${text('test')}</button></p>
      <output></output><p role="alert"></p></form>`
    const form = this.querySelector('form')
    for (const kind of kinds) form.elements[kind].checked = state.kinds.includes(kind)
    form.onsubmit = event => {
      event.preventDefault()
      const chosen = kinds.filter(kind => form.elements[kind].checked)
      this.send('PUT', '/v1/notifier', { kinds: chosen, url: form.elements.url.value || undefined })
    }
    form.querySelector('[type=button]').onclick = () => this.send('POST', '/v1/notifier/test')
  }

  async send(method, path, body) {
    const { message = '' } = await this.api.call(method, path, body).catch(error => error)
    this.querySelector('[role=alert]').textContent = message
    if (message === '') this.querySelector('[name=url]').value = ''
    await this.refresh()
  }
}

customElements.define('notifier-page', Page)
