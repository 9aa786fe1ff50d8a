// Refreshes the states every 10 s.
setInterval(async () => {
  const page = new DOMParser().parseFromString(await (await fetch('/status')).text(), 'text/html')
  document.querySelector('#states').replaceWith(page.querySelector('#states'))
}, 10_000)
