/* The data and the scripts of a page, which are compressed. The policy allows scripts by their digests. */
let dataText = "";
async function inflate(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}
Promise.all(["data", "plotly", "script"].map(inflate)).then(([text, ...scripts]) => {
  dataText = text;
  for (const script of scripts) document.body.append(Object.assign(document.createElement("script"), { text: script }));
});
